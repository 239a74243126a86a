// Hints: options that would have helped a trace with failures, found by tracing again with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/options/options.h"
#include "trace/search/trace.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// Returns the smallest set of options with which the fewest modules fail; nothing when no option that was
// tried helps, or when the trace is too large to try.  Takes up to a dozen traces, none when no module
// failed.
std::optional<Hint> find_hint(const FinishedTrace& trace);

// Returns options that describe, with sizes that are common for such models, each tensor input of the method
// that no option mentions: "--input x=float32[1,3,224,224]".  Empty when the code does not determine all of
// them.
std::vector<std::string> guess_input_options(const Program& program, const TraceOptions& options);

}  // namespace fxtrace::internal
