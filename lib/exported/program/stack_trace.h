// A parser of Python's stack traces; exported programs keep one for each node.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/node.h"
#include "trace/modules/recorded_calls.h"

namespace fxtrace::internal {

// Returns the innermost frame, the place of the operation.  Nothing for a text without frames.
std::optional<SourceLocation> innermost_frame(std::string_view stack_trace);

// Returns the frame that called the module whose forward is the `depth`-th in the trace; the root's is the
// 0th.  Returns nothing when the number of forwards in the trace is not `modules`, the number of modules on
// the stack, as frames and modules cannot be matched then.
std::optional<SourceLocation> calling_frame(std::string_view stack_trace, std::uint32_t depth,
                                            std::uint32_t modules);

// Returns all frames, innermost first.
std::vector<StackFrame> frames(std::string_view stack_trace);

}  // namespace fxtrace::internal
