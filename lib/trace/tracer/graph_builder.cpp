#include "trace/tracer/graph_builder.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace fxtrace::internal {
namespace {

Meta meta_of(const Constant& value) {
  Meta meta;
  if (!value.object_type.empty()) {
    meta.type = value.object_type;
    return meta;
  }
  meta.type = "Tensor";
  meta.set_dtype(value.dtype);
  meta.shape.emplace(value.shape.begin(), value.shape.end());
  return meta;
}

std::string guard_key(const Guard& guard) {
  return guard.expr.text() + '\n' +
         (guard.source ? guard.source->file + ':' + std::to_string(guard.source->line) : "");
}

}  // namespace

GraphBuilder::GraphBuilder(GraphId id, std::string name, std::string module, std::string type,
                           Journal& journal)
    : id_(id), name_(std::move(name)), journal_(journal) {
  result_.module = std::move(module);
  result_.type = std::move(type);
}

// Marks the graph at the first change in an epoch of the journal: all nodes of an epoch are removed at once.
void GraphBuilder::before_growing() {
  if (epoch_ == journal_.epoch()) return;
  epoch_ = journal_.epoch();
  journal_.add([this, mark = result_.graph.mark()] { result_.graph.roll_back(mark); });
}

NodeId GraphBuilder::append(Graph::NodeSpec spec) {
  before_growing();
  return result_.graph.append(std::move(spec));
}

std::optional<NodeId> GraphBuilder::find_attr(const std::string& target) const {
  const auto found = attributes_.find(target);
  return found == attributes_.end() ? std::nullopt : std::optional(found->second);
}

NodeId GraphBuilder::get_attr(Graph::NodeSpec spec) {
  const NodeId id = append(std::move(spec));
  attributes_.emplace(graph().node(id).target, id);
  journal_.add([this, id] { attributes_.erase(graph().node(id).target); });
  return id;
}

NodeId GraphBuilder::named_constant(const std::string& name, const std::function<Constant()>& make,
                                    Shared<Scope> scope) {
  Constant value = make();
  Meta meta = meta_of(value);
  result_.constants.emplace_back(name, std::move(value));
  journal_.add([this] { result_.constants.pop_back(); });
  return get_attr({Opcode::kGetAttr, name, {}, {}, std::move(scope), std::move(meta), std::nullopt, ""});
}

std::optional<NodeId> GraphBuilder::find_constant(const void* identity) const {
  const auto found = constants_.find(identity);
  return found == constants_.end() ? std::nullopt : std::optional(found->second);
}

NodeId GraphBuilder::constant(const void* identity, const std::function<Constant()>& make,
                              Shared<Scope> scope, Shared<std::optional<SourceLocation>> source) {
  Constant value = make();
  const bool is_tensor = value.object_type.empty() || value.object_type == kTensorConstant;
  const char* kind = is_tensor ? "_tensor_constant" : "_torchbind_obj";
  const std::string name = kind + std::to_string(result_.constants.size());
  Meta meta = meta_of(value);
  const NodeId id =
      append({Opcode::kGetAttr, name, {}, {}, std::move(scope), std::move(meta), std::move(source), ""});
  result_.constants.emplace_back(name, std::move(value));
  constants_.emplace(identity, id);
  journal_.add([this, identity] {
    constants_.erase(identity);
    result_.constants.pop_back();
  });
  return id;
}

void GraphBuilder::guard(Guard guard) {
  if (guard.expr == Expression::boolean(true)) return;
  if (!guard_keys_.insert(guard_key(guard)).second) return;
  result_.guards.push_back(std::move(guard));
  journal_.add([this] {
    guard_keys_.erase(guard_key(result_.guards.back()));
    result_.guards.pop_back();
  });
}

NodeId GraphBuilder::capture(NodeId outer, const std::string& name, Shared<Scope> scope, Meta meta) {
  const auto known = inputs_.find(outer.index);
  if (known != inputs_.end()) return known->second;
  before_growing();
  Graph::NodeSpec spec{Opcode::kPlaceholder, "",           {},  {}, std::move(scope),
                       std::move(meta),      std::nullopt, name};
  NodeId position = graph().first();
  while (position.valid() && graph().node(position).op == Opcode::kPlaceholder) {
    position = graph().next(position);
  }
  const NodeId id =
      position.valid() ? graph().insert_before(position, std::move(spec)) : graph().append(std::move(spec));
  inputs_.emplace(outer.index, id);
  captured_.push_back(outer);
  journal_.add([this] {
    inputs_.erase(captured_.back().index);
    captured_.pop_back();
  });
  return id;
}

// Adds no inverse to the journal: inputs are only taken back together with the whole subgraph.
void GraphBuilder::arrange_inputs(const std::vector<NodeId>& captured) {
  NodeId behind = graph().first();
  while (graph().node(behind).op == Opcode::kPlaceholder) behind = graph().next(behind);
  for (const NodeId outer : captured) graph().move_before(behind, inputs_.at(outer.index));
}

NodeId GraphBuilder::captured_as(NodeId input) const {
  const auto found = std::ranges::find_if(inputs_, [&](const auto& entry) { return entry.second == input; });
  return found == inputs_.end() ? NodeId{} : NodeId{found->first};
}

std::optional<NodeId> GraphBuilder::find_operand(NodeId value) const { return find_node(operands_, value); }

void GraphBuilder::set_operand(NodeId value, NodeId operand) { set(operands_, value, operand); }

std::optional<NodeId> GraphBuilder::find_converted(NodeId outer) const {
  return find_node(converted_, outer);
}

void GraphBuilder::set_converted(NodeId outer, NodeId node) { set(converted_, outer, node); }

std::optional<NodeId> GraphBuilder::find_node(const NodeTable& table, NodeId key) {
  const auto found = table.find(key.index);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

void GraphBuilder::set(NodeTable& table, NodeId key, NodeId value) {
  table.emplace(key.index, value);
  journal_.add([&table, key] { table.erase(key.index); });
}

void GraphBuilder::stands_for_parameter(NodeId node, std::size_t parameter) {
  parameters_.emplace(node.index, parameter);
  journal_.add([this, node] { parameters_.erase(node.index); });
}

std::optional<std::size_t> GraphBuilder::find_parameter(NodeId node) const {
  const auto found = parameters_.find(node.index);
  return found == parameters_.end() ? std::nullopt : std::optional(found->second);
}

void GraphBuilder::add_subgraph(std::string name, ModuleGraph graph) {
  result_.subgraphs.add({std::move(name), std::move(graph)});
}

std::string GraphBuilder::next_subgraph(const std::string& kind) const {
  const std::string prefix = kind + "_graph_";
  for (const Subgraph& last : result_.subgraphs | std::views::reverse) {
    if (last.name.starts_with(prefix))
      return prefix + std::to_string(std::stoi(last.name.substr(prefix.size())) + 1);
  }
  return prefix + "0";
}

ModuleGraph GraphBuilder::take_last_subgraph() { return result_.subgraphs.take_last().graph; }

// Front ends read attributes that have no use in the graph, as for `if self.bias is None`.  An attribute
// whose own source location is unknown gets that of its first user.
void GraphBuilder::drop_unused_attributes() {
  for (const NodeId id : graph().order()) {
    const Node& node = graph().node(id);
    if (node.op != Opcode::kGetAttr) continue;
    if (!node.users.empty() || graph().is_assigned(id)) {
      if (!*node.source && !node.users.empty())
        graph().set_source(id, graph().node(node.users.front()).source);
      continue;
    }
    std::erase_if(result_.constants, [&](const auto& constant) { return constant.first == node.target; });
    graph().erase(id);
  }
  if (!result_.signature) return;
  for (auto* entries : {&result_.signature->inputs, &result_.signature->outputs}) {
    for (auto& entry : *entries) {
      if (!graph().contains(entry.node)) entry.node = {};
    }
  }
}

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
