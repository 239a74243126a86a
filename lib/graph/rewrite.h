// Edits of a graph that keep references to its nodes consistent, and nodes that stand for others.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Edits of a graph that keep references to its nodes (signature, constants, subgraphs) consistent.

// Replaces `from` by `to` for all users and in the signature, and erases `from`.
void replace_node(ModuleGraph& graph, NodeId from, NodeId to);
// Erases an unused node, also from the signature.
void erase_node(ModuleGraph& graph, NodeId node);
// Erases nodes that have no users but each other, with the constants and subgraphs that only they refer to.
void erase_nodes(ModuleGraph& graph, const std::vector<NodeId>& nodes);
// Drops constants and subgraphs that no node refers to.
void drop_unused_parts(ModuleGraph& graph);

// Substitutes f(input) for the inputs of `user` for which there is one.
void replace_inputs(ModuleGraph& graph, NodeId user, const std::function<std::optional<Argument>(NodeId)>& f);

// A substitution of plain values for nodes.
class Replacements {
 public:
  void add(NodeId node, Argument value) { values_.emplace(node.index, std::move(value)); }
  // Substitutes the values in the arguments of `user`.
  void apply(ModuleGraph& graph, NodeId user) const;
  Argument applied(const Argument& argument) const;
  // Substitutes the values in the signature and the assignments.
  void apply_to_ends(ModuleGraph& graph) const;

 private:
  std::optional<Argument> find_replacement(NodeId node) const;

  std::unordered_map<std::uint32_t, Argument> values_;  // by node
};

// Returns the integer that the argument is, or that its node is known to have.
std::optional<std::int64_t> known_integer(const Graph& graph, const Argument& argument);
// Returns the same as an expression of dimensions.
std::optional<Expression> known_size(const Graph& graph, const Argument& argument);

// Specs for new nodes.

// Returns the spec of a node like `node`, in the same graph or another one, without its arguments, and with
// its name as the preferred one.
inline Graph::NodeSpec spec_like(const Node& node) {
  Graph::NodeSpec spec = node;
  spec.args.clear();
  spec.kwargs.clear();
  return spec;
}

// Returns the same with its arguments, in which map(argument) replaces each.
template <std::invocable<const Argument&> Map>
Graph::NodeSpec copy_of(const Node& node, Map&& map) {
  Graph::NodeSpec spec = node;
  for (Argument& argument : spec.args) argument = map(argument);
  for (auto& [name, argument] : spec.kwargs) argument = map(argument);
  return spec;
}

// The nodes that stand for those of another graph, by NodeId::index there.
using Copies = std::unordered_map<std::uint32_t, NodeId>;

// Returns the argument with the copies of the nodes that it refers to.
inline Argument copy_of(const Argument& argument, const Copies& copies) {
  return map_references(argument, [&](NodeId id) -> Argument { return copies.at(id.index); });
}
inline Graph::NodeSpec copy_of(const Node& node, const Copies& copies) {
  return copy_of(node, [&](const Argument& argument) { return copy_of(argument, copies); });
}

inline Graph::NodeSpec spec_of(Opcode op, std::string target, std::vector<Argument> args = {},
                               Kwargs kwargs = {}) {
  Graph::NodeSpec spec;
  spec.op = op;
  spec.target = std::move(target);
  spec.args = std::move(args);
  spec.kwargs = std::move(kwargs);
  return spec;
}

}  // namespace fxtrace::internal
