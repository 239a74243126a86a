// Parses Python's stack traces, of which exported programs keep one for each node.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/node.h"
#include "trace/modules/recorded_calls.h"

namespace fxtrace {

// Returns the innermost frame, the place of the operation.  Nothing for a text without frames.
std::optional<SourceLocation> innermost_frame(std::string_view stack_trace);

// Returns the frame that called the module whose forward is the `depth`-th in the trace; the root's is the
// 0th.  Nothing when the trace does not have one forward for each of the `modules` on the stack, so that
// frames and modules cannot be matched.
std::optional<SourceLocation> calling_frame(std::string_view stack_trace, std::uint32_t depth,
                                            std::uint32_t modules);

// Returns all frames, innermost first.
std::vector<StackFrame> frames(std::string_view stack_trace);

}  // namespace fxtrace
