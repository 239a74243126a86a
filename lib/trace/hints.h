// After a trace with failures: options that would have helped, found by trying them.
#pragma once

#include <optional>

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

}  // namespace fxtrace
