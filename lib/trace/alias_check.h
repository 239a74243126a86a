// Control flow as subgraphs works on copies and on values that are handed in: torch's cond and while_loop
// take no subgraph that writes to an operand, and give back copies of operands.  Where the code would have
// changed a tensor that is seen elsewhere, the graph would mean something else.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "graph/graph_collection.h"
#include "passes/support/effects.h"

namespace fxtrace {

struct AliasConflict {
  std::string module;  // path of the module whose branch or loop it is
  Failure failure;
};

// Whether a node of which `semantics` knows nothing, a leaf of the model's own, may write to a tensor that it
// gets.
using MayWrite = std::function<bool(const Node&)>;

// The first write of the graph, or of its subgraphs, of which that cannot be ruled out.
std::optional<AliasConflict> find_alias_conflict(const ModuleGraph& graph, Semantics& semantics,
                                                 const MayWrite& may_write);

}  // namespace fxtrace
