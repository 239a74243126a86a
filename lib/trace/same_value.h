// Tells values of one graph that are worked out in the same way.
#pragma once

#include <cstdint>

#include "graph/graph_collection.h"

namespace fxtrace {

// Whether both do the same with what they get, node for node.
bool is_same_code(const ModuleGraph& first, const ModuleGraph& second);

// Whether two values of the graph are the same as far as nodes tell: one node, or calls of one function with
// arguments that are.  Nodes with ids below `pure_from` are only the same as themselves; that the others are
// pure, and that nothing is written between them, is the caller's business.
bool is_same_value(const ModuleGraph& graph, NodeId first, NodeId second, std::uint32_t pure_from);

}  // namespace fxtrace
