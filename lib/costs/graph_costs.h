// The costs of graphs and their nodes.
#pragma once

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Computes `cost` of every node, graph and subgraph.  For calls of leaves, and of functions kept as one call,
// it starts from the cost that the front end has set on the node, which is without bytes of parameters.
void add_costs(GraphCollection& collection);

}  // namespace fxtrace::internal
