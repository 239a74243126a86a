// Steps that passes share: changes of a graph together with what refers to its nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace {

// Whoever used `from` uses `to`, and the signature names it; `from` goes.
void replace_node(ModuleGraph& graph, NodeId from, NodeId to);
// Nobody uses it; it goes, and the signature says so.
void erase_node(ModuleGraph& graph, NodeId node);
// Nobody uses these but each other; they go, with constants and subgraphs that no other node names.
void erase_nodes(ModuleGraph& graph, const std::vector<NodeId>& nodes);
// Drops constants and subgraphs that no node names.
void drop_unused_parts(ModuleGraph& graph);

// Plain values that stand for nodes from now on.
class Replacements {
 public:
  void add(NodeId node, Argument value) { values_.emplace(node.index, std::move(value)); }
  bool empty() const { return values_.empty(); }
  // Puts the values in the place of the nodes among the arguments of `user`.
  void apply(ModuleGraph& graph, NodeId user) const;
  Argument applied(const Argument& argument) const;
  void apply_to_signature(ModuleGraph& graph) const;

 private:
  std::unordered_map<std::uint32_t, Argument> values_;  // by node
};

// The integer that stands there or that the node is known to give.
std::optional<std::int64_t> known_integer(const Graph& graph, const Argument& argument);
// As an expression of dimensions.
std::optional<Expression> known_size(const Graph& graph, const Argument& argument);

}  // namespace fxtrace
