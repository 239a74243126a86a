// Calls that return their input, and whether tensors fill their memory without gaps.
#pragma once

#include "analysis/effects.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Recognizes calls that return their input, from their arguments and the known shapes and dtypes.

// Returns whether the operator's rule (opinfo/traits.h) holds for this call.
bool gives_input(const Graph& graph, const Node& node, const OperatorEntry& info);
// Returns whether a conversion operator makes new memory: it asks for another dtype, or for a copy.
bool converts(const Graph& graph, const Node& node, const OperatorEntry& info);

// Layout analysis: whether the strides of a tensor can be observed.

// Returns whether the value is the result of a call and not a view: then it is dense, as a copy of it would
// be.
bool is_dense(const ModuleGraph& graph, Semantics& semantics, NodeId value);
// Returns whether a node may read the strides of `value`, or of values that inherit its layout: views, and
// results of elementwise operators.
bool layout_may_show(const ModuleGraph& graph, Semantics& semantics, NodeId value);

}  // namespace fxtrace::internal
