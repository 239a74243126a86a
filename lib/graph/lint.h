// Checks of the invariants of graphs and collections.
#pragma once

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Each function throws Error(kInternal) for the first violation, with its place.

// Checks order, users and names: definitions precede uses, Node::users is consistent, names are unique,
// placeholders come first, and the output is last.
void lint(const Graph& graph);

// Checks all graphs and subgraphs likewise, and also that references lead to something: targets of modules,
// attributes and methods, scopes, constants, subgraphs in arguments, nodes of signatures, modules and
// parameters in the order of execution.  Names and aliases of modules and parameters must be consistent.
void lint(const GraphCollection& collection);

}  // namespace fxtrace::internal
