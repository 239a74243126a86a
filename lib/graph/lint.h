// What must hold of graphs and collections, whoever made them.
#pragma once

#include "graph/graph_collection.h"

namespace fxtrace {

// Each throws Error(kInternal) that names the first thing that is wrong and where.

// Order, users and names: a use before its definition, users that do not match, a name used twice,
// placeholders that do not come first, an output that is not last.
void lint(const Graph& graph);

// Besides, of every graph and its subgraphs: targets of modules, attributes and methods, scopes, constants,
// subgraphs and the arguments that name them, the nodes of a signature, modules and parameters in the order
// of execution; and that names and aliases of modules and parameters are right.
void lint(const GraphCollection& collection);

}  // namespace fxtrace
