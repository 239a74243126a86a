// Replaces a call of cond with a known condition by the branch that it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/effects.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Returns the condition's value when the node is a cond with a known condition; else nothing.
std::optional<bool> known_condition(const Graph& graph, const Node& call);

// Inlines branches into one graph.  Valid as long as nothing else adds or removes subgraphs or constants.
class TakenBranches {
 public:
  TakenBranches(ModuleGraph& graph, Semantics& semantics) : graph_(&graph), semantics_(&semantics) {}

  // Returns why the branch cannot be inlined; empty when it can.
  std::string obstacle(const Node& call, bool condition);

  struct Inlined {
    std::vector<NodeId> nodes;  // the inlined nodes before the call, in order
    Argument result;            // the call's result as a tuple
  };
  // Inlines the branch before the call; obstacle() must be empty.  The call and its subgraphs are kept.
  Inlined put_before(NodeId call, bool condition);

 private:
  using Names = std::unordered_map<std::string, std::string>;  // from the branch's names to the graph's
  const ModuleGraph* find_branch(const Node& call, bool condition);
  std::string unused_name(const std::string& name);
  Names add_parts(const ModuleGraph& branch);

  ModuleGraph* graph_;
  Semantics* semantics_;
  // The names of constants and subgraphs; filled when the first is added.
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::int64_t> next_;  // the next free number, by the name's prefix
};

}  // namespace fxtrace::internal
