// What --input says of the inputs of a graph, and what a pass has taken from it.
#pragma once

#include <functional>

#include "graph/graph_collection.h"

namespace fxtrace {

// Runs a pass on a graph of TorchScript, and adds guards for the facts about inputs without which the pass
// would have made another graph: this is found out by running it without them.
void run_with_guards(const std::function<void(ModuleGraph&)>& pass, ModuleGraph& graph);

}  // namespace fxtrace
