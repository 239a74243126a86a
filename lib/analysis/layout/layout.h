// Layout analysis: whether the strides of a tensor can be observed.
#pragma once

#include "analysis/effects.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Returns whether the value is the result of a call and not a view: then it is dense, as a copy of it would
// be.
bool is_dense(const ModuleGraph& graph, Semantics& semantics, NodeId value);
// Returns whether a node may read the strides of `value`, or of values that inherit its layout: views, and
// results of elementwise operators.
bool layout_may_show(const ModuleGraph& graph, Semantics& semantics, NodeId value);

}  // namespace fxtrace::internal
