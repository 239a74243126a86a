// Suggestions of `fxtrace why`: options that help, the effect of ranges of a dimension, and calls that no
// trace reaches.  They are found by tracing again and by reading the program's code.
#pragma once

#include <vector>

#include "graph/graph_collection.h"
#include "summaries/explanation.h"
#include "trace/search/trace.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// Tries options alone and together.  The work is bounded: not all sets are tried, and none at all when the
// trace has more than kMaxTriedNodes.
Suggestions find_suggestions(const FinishedTrace& trace);

// Adds to explanations of modules that no graph calls the calls of them in the code, and the guards that
// decided the conditions around these.
void explain_calls(const Program& program, const GraphCollection& result,
                   std::vector<ModuleExplanation>& explanations);

// Tries some ranges for the dimension, and adds the counts of a trace with each.
void try_ranges(const FinishedTrace& trace, DimensionExplanation& explanation);

}  // namespace fxtrace::internal
