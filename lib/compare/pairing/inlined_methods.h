// Inlined methods: calls of methods other than forward, as torch.export records them.
#pragma once

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Returns whether a graph of the collection calls such a method.
bool has_method_calls(const GraphCollection& collection);

// Returns the collection with the nodes of such methods as a part of the forward that calls them.  Modules of
// which no other code runs are unvisited then.
GraphCollection with_methods_inlined(GraphCollection collection);

}  // namespace fxtrace::internal
