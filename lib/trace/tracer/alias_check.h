// Finds control flow whose subgraphs may write in place to a tensor that is visible outside.  torch's cond
// and while_loop refuse subgraphs that mutate an operand, and return copies of operands, so such a graph
// would not do what the code does.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "graph/graph_collection.h"
#include "passes/analysis/effects.h"

namespace fxtrace {

struct AliasConflict {
  std::string module;  // path of the module whose branch or loop it is
  Failure failure;
};

// Tells whether a node that `semantics` does not know (a leaf of the model's own) may write to one of its
// tensor arguments.
using MayWrite = std::function<bool(const Node&)>;

// Returns the first write, in the graph or its subgraphs, that may reach a tensor visible outside its
// subgraph; nothing when there is none.
std::optional<AliasConflict> find_alias_conflict(const ModuleGraph& graph, Semantics& semantics,
                                                 const MayWrite& may_write);

}  // namespace fxtrace
