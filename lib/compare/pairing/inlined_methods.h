// Methods other than forward, as torch.export records them.
#pragma once

#include "graph/graph_collection.h"

namespace fxtrace {

// Whether a graph calls any.
bool has_method_calls(const GraphCollection& collection);

// Returns the collection with what such methods do as a part of the forward that calls them; modules of which
// no other code runs are unvisited.
GraphCollection with_methods_inlined(GraphCollection collection);

}  // namespace fxtrace
