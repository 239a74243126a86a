// A call of cond whose condition is known: the branch that it takes can stand in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph_collection.h"
#include "passes/support/effects.h"

namespace fxtrace {

// Whether the condition holds, where the node is such a call.
std::optional<bool> known_condition(const Graph& graph, const Node& call);

// Of one graph, as long as no one else adds or takes away subgraphs and constants.
class TakenBranches {
 public:
  TakenBranches(ModuleGraph& graph, Semantics& semantics) : graph_(&graph), semantics_(&semantics) {}

  // Why the branch cannot stand there; empty when it can.
  std::string obstacle(const Node& call, bool condition);

  struct Inlined {
    std::vector<NodeId> nodes;  // in front of the call, in their order
    Argument result;            // a tuple: what the call gives
  };
  // There must be no obstacle.  The call stays, and so do its subgraphs.
  Inlined put_before(NodeId call, bool condition);

 private:
  using Names = std::unordered_map<std::string, std::string>;  // in the branch: in the graph
  const ModuleGraph* find(const Node& call, bool condition);
  std::string unused_name(const std::string& name);
  Names add_parts(const ModuleGraph& branch);

  ModuleGraph* graph_;
  Semantics* semantics_;
  std::unordered_set<std::string> names_;               // of constants and subgraphs, once one is added
  std::unordered_map<std::string, std::int64_t> next_;  // by what a name has in front of its number
};

}  // namespace fxtrace
