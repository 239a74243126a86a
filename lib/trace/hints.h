// After a trace with failures: options that would have helped, found by trying them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/options.h"
#include "trace/program.h"
#include "trace/trace.h"

namespace fxtrace {

// The fewest options with which the fewest modules fail; nothing when no option tried helps, or when the
// traces would take long: `result`, what was traced with `options`, must be small.  Costs up to a dozen
// traces, and nothing when no module failed.
std::optional<Hint> find_hint(const Program& program, const TraceOptions& options,
                              const GraphCollection& result);

// Options that give each tensor input of the method that no option speaks of a size that such models often
// have: "--input x=float32[1,3,224,224]".  Empty when the code does not tell it of all of them.
std::vector<std::string> guess_input_options(const Program& program, const TraceOptions& options);

}  // namespace fxtrace
