#include "graph/rewrite.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace fxtrace::internal {
namespace {

template <class F>
void for_each_entry(ModuleGraph& graph, F&& f) {
  if (!graph.signature) return;
  for (auto* entries : {&graph.signature->inputs, &graph.signature->outputs}) {
    for (GraphSignature::Entry& entry : *entries) f(entry);
  }
}

}  // namespace

void replace_node(ModuleGraph& graph, NodeId from, NodeId to) {
  graph.graph.replace_all_uses(from, to);
  for_each_entry(graph, [&](GraphSignature::Entry& entry) {
    if (entry.node == from) entry.node = to;
  });
  graph.graph.erase(from);
}

void erase_node(ModuleGraph& graph, NodeId node) {
  graph.graph.erase(node);
  for_each_entry(graph, [&](GraphSignature::Entry& entry) {
    if (entry.node == node) entry.node = {};
  });
}

void erase_nodes(ModuleGraph& graph, const std::vector<NodeId>& nodes) {
  if (nodes.empty()) return;
  std::unordered_set<std::uint32_t> erased;
  for (const NodeId id : nodes) erased.insert(id.index);
  graph.graph.erase(nodes);
  for_each_entry(graph, [&](GraphSignature::Entry& entry) {
    if (entry.node.valid() && erased.contains(entry.node.index)) entry.node = {};
  });
  drop_unused_parts(graph);
}

void drop_unused_parts(ModuleGraph& graph) {
  if (graph.constants.empty() && graph.subgraphs.empty()) return;
  std::unordered_set<std::string_view> named;
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
    const Node& node = graph.graph.node(id);
    if (node.op == Opcode::kGetAttr) named.insert(node.target);
    for_each_of<Argument::GraphRef>(node, [&](const auto& reference) { named.insert(reference.name); });
  }
  std::erase_if(graph.constants, [&](const auto& constant) { return !named.contains(constant.first); });
  graph.subgraphs.erase_if([&](const Subgraph& subgraph) { return !named.contains(subgraph.name); });
}

void replace_inputs(ModuleGraph& graph, NodeId user,
                    const std::function<std::optional<Argument>(NodeId)>& f) {
  const Node& node = graph.graph.node(user);
  bool any = false;
  for_each_input(node, [&](NodeId input) { any = any || f(input).has_value(); });
  if (!any) return;
  const auto replaced = [&](const Argument& argument) {
    return map_references(argument, [&](NodeId input) { return f(input).value_or(input); });
  };
  std::vector<Argument> args;
  for (const Argument& argument : node.args) args.push_back(replaced(argument));
  Kwargs kwargs;
  for (const auto& [name, argument] : node.kwargs) kwargs.emplace_back(name, replaced(argument));
  graph.graph.set_args(user, std::move(args), std::move(kwargs));
}

std::optional<Argument> Replacements::find_replacement(NodeId node) const {
  const auto found = values_.find(node.index);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

void Replacements::apply(ModuleGraph& graph, NodeId user) const {
  replace_inputs(graph, user, [&](NodeId input) { return find_replacement(input); });
}

Argument Replacements::applied(const Argument& argument) const {
  return map_references(argument, [&](NodeId input) { return find_replacement(input).value_or(input); });
}

void Replacements::apply_to_ends(ModuleGraph& graph) const {
  graph.graph.map_assignments([&](const Argument& value) { return applied(value); });
  for_each_entry(graph, [&](GraphSignature::Entry& entry) {
    const auto found = entry.node.valid() ? values_.find(entry.node.index) : values_.end();
    if (found == values_.end()) return;
    if (const auto* node = found->second.get_if<NodeId>()) {
      entry.node = *node;
    } else {
      entry.node = {};
      entry.value = found->second;
    }
  });
}

std::optional<std::int64_t> known_integer(const Graph& graph, const Argument& argument) {
  const auto size = known_size(graph, argument);
  return size ? size->number() : std::nullopt;
}

std::optional<Expression> known_size(const Graph& graph, const Argument& argument) {
  if (const auto* integer = argument.get_if<std::int64_t>()) return Expression(*integer);
  const auto* id = argument.get_if<NodeId>();
  if (id == nullptr) return std::nullopt;
  const Meta& meta = graph.node(*id).meta;
  return meta.kind() == ValueKind::kInt ? meta.value : std::nullopt;
}

}  // namespace fxtrace::internal
