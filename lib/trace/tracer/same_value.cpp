#include "trace/tracer/same_value.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace fxtrace::internal {
namespace {

using SameNode = std::function<bool(NodeId, NodeId)>;

// The arguments of a call: their form with all nodes blanked out, and separately the nodes and subgraphs.
struct Arguments {
  std::vector<std::pair<std::string, Argument>> form;
  std::vector<NodeId> nodes;
  std::vector<const ModuleGraph*> subgraphs;
};

Arguments arguments_of(const ModuleGraph& graph, const Node& node) {
  Arguments result;
  const auto add = [&](const std::string& name, const Argument& argument) {
    for_each_value(argument, [&](const Argument& value) {
      if (const auto* id = value.get_if<NodeId>()) result.nodes.push_back(*id);
    });
    if (const auto* subgraph = argument.get_if<Argument::GraphRef>()) {
      result.subgraphs.push_back(graph.subgraphs.find_graph(subgraph->name));
      return;
    }
    result.form.emplace_back(name, map_references(argument, [](NodeId) -> Argument { return NodeId{}; }));
  };
  for (const Argument& argument : node.args) add("", argument);
  for (const auto& [name, argument] : node.kwargs) add(name, argument);
  return result;
}

bool are_same(const Arguments& first, const Arguments& second, const SameNode& same) {
  return first.form == second.form && std::ranges::equal(first.nodes, second.nodes, same) &&
         std::ranges::equal(first.subgraphs, second.subgraphs,
                            [](const ModuleGraph* one, const ModuleGraph* other) {
                              return one != nullptr && other != nullptr && is_same_code(*one, *other);
                            });
}

}  // namespace

bool is_same_code(const ModuleGraph& first, const ModuleGraph& second) {
  const std::vector<NodeId> one = first.graph.order(), other = second.graph.order();
  std::unordered_map<std::uint32_t, std::uint32_t> partner;
  const auto same = [&](NodeId a, NodeId b) {
    const auto found = partner.find(a.index);
    return found != partner.end() && found->second == b.index;
  };
  return std::ranges::equal(one, other, [&](NodeId a, NodeId b) {
    const Node& left = first.graph.node(a);
    const Node& right = second.graph.node(b);
    partner.emplace(a.index, b.index);
    // Inputs correspond by position.  Constants of one name may differ between the graphs.
    return left.op == right.op && left.op != Opcode::kGetAttr &&
           (left.op == Opcode::kPlaceholder || left.target == right.target) &&
           are_same(arguments_of(first, left), arguments_of(second, right), same);
  });
}

bool is_same_value(const ModuleGraph& graph, NodeId first, NodeId second, std::uint32_t pure_from) {
  std::set<std::pair<NodeId, NodeId>> found;  // pairs that are known to be the same
  const SameNode same = [&](NodeId a, NodeId b) {
    if (a == b || found.contains({a, b})) return true;
    const Node& left = graph.graph.node(a);
    const Node& right = graph.graph.node(b);
    if (std::min(a.index, b.index) < pure_from || left.op != Opcode::kCallFunction || right.op != left.op ||
        left.target != right.target ||
        !are_same(arguments_of(graph, left), arguments_of(graph, right), same)) {
      return false;
    }
    found.emplace(a, b);
    return true;
  };
  return same(first, second);
}

}  // namespace fxtrace::internal
