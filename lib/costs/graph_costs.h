// What graphs cost, and each of their nodes.
#pragma once

#include "graph/graph_collection.h"

namespace fxtrace {

// Works out `cost` of every node, graph and subgraph.  What calls of leaves and of functions that stay one
// call cost inside is taken from the nodes: whoever recorded them has set it, without the bytes of
// parameters.
void add_costs(GraphCollection& collection);

}  // namespace fxtrace
