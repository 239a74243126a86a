// Guards for the facts about inputs (--input) that a pass relied on.
#pragma once

#include <functional>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Runs a pass on a graph of TorchScript, and adds guards for those facts about inputs without which the pass
// would have made another graph.  These are found by running the pass on copies without the facts.
void run_with_guards(const std::function<void(ModuleGraph&)>& pass, ModuleGraph& graph);

}  // namespace fxtrace::internal
