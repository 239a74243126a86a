// Value numbering: recognises values of one graph that are computed in the same way.
#pragma once

#include <cstdint>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Returns whether both graphs have the same nodes in the same order, up to names.  Graphs that read
// attributes never count as the same.
bool is_same_code(const ModuleGraph& first, const ModuleGraph& second);

// Returns whether two values of the graph are the same by construction: one node, or calls of one function
// with the same arguments.  Nodes with ids below `pure_from` equal only themselves; the caller guarantees
// that the others are pure and that nothing is written between them.
bool is_same_value(const ModuleGraph& graph, NodeId first, NodeId second, std::uint32_t pure_from);

}  // namespace fxtrace::internal
