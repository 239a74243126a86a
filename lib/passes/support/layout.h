// Where it shows how a tensor is laid out in memory.
#pragma once

#include "graph/graph_collection.h"
#include "passes/support/effects.h"

namespace fxtrace {

// It is made by a call, and no view: dense, as a copy of it is.
bool is_dense(const ModuleGraph& graph, Semantics& semantics, NodeId value);
// Something may ask for the strides of `value`, or of what gets its layout from it: of views, and of what is
// computed element by element.
bool layout_may_show(const ModuleGraph& graph, Semantics& semantics, NodeId value);

}  // namespace fxtrace
