// What `fxtrace why` finds out by tracing again, and by looking into a program: options that help, what
// ranges of a dimension leave, calls that no trace reaches.
#pragma once

#include <vector>

#include "graph/graph_collection.h"
#include "summaries/explanation.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace {

// Tries options alone and together.  `result` is the trace with `options`.  The work is bounded: not all sets
// are tried, and none after a trace of more than kMaxTriedNodes.
Suggestions find_suggestions(const Program& program, const TraceOptions& options,
                             const GraphCollection& result);

// Adds the calls in the code of those modules that no graph calls, and the guards that decided about them.
void explain_calls(const Program& program, const GraphCollection& result,
                   std::vector<ModuleExplanation>& explanations);

// Adds some ranges that can be given to the dimension, and what a trace leaves with each.
void try_ranges(const Program& program, const TraceOptions& options, const GraphCollection& result,
                DimensionExplanation& explanation);

}  // namespace fxtrace
