// Checks the invariants of graphs and collections.
#pragma once

#include "graph/graph_collection.h"

namespace fxtrace {

// Each function throws Error(kInternal), which names the first violation and its place.

// Checks order, users and names: definitions precede uses, Node::users is consistent, names are unique,
// placeholders come first, and the output is last.
void lint(const Graph& graph);

// Checks all graphs and subgraphs likewise, and also that these exist: targets of modules, attributes and
// methods, scopes, constants, subgraphs that arguments name, nodes of signatures, modules and parameters in
// the order of execution.  Names and aliases of modules and parameters must be consistent.
void lint(const GraphCollection& collection);

}  // namespace fxtrace
