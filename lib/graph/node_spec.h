// Specs for new nodes.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace fxtrace::internal {

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
