#include "fxtrace/graph.h"

#include <algorithm>

#include "api/public_parts.h"
#include "graph/analysis/text_form.h"
#include "graph/graph_collection.h"
#include "support/error.h"

namespace fxtrace {

namespace internal {

Size size_of(const Expression& size) { return {size.number(), size.text()}; }
Size size_of(const SymInt& size) { return {size.number(), size.text()}; }

}  // namespace internal

using internal::size_of;

std::optional<std::string> Meta::type() const { return meta_->type; }
std::optional<std::vector<Size>> Meta::shape() const {
  if (!meta_->shape) return std::nullopt;
  std::vector<Size> sizes;
  for (const internal::Expression& size : *meta_->shape) sizes.push_back(size_of(size));
  return sizes;
}
std::optional<std::string> Meta::dtype() const { return meta_->dtype_text(); }
std::string Meta::device() const { return meta_->device_or_cpu().text(); }
std::optional<Size> Meta::value() const { return size_of(meta_->value); }

NodeId Node::id() const { return node_->id; }
const std::string& Node::name() const { return node_->name; }
Opcode Node::op() const { return node_->op; }
const std::string& Node::target() const { return *node_->target; }
const std::vector<Argument>& Node::args() const { return node_->args; }
const std::vector<std::pair<std::string, Argument>>& Node::kwargs() const { return node_->kwargs; }
std::vector<Node> Node::inputs() const {
  std::vector<Node> nodes;
  internal::for_each_input(*node_, [&](NodeId id) {
    const auto is_same = [&](const Node& other) { return other.id() == id; };
    if (std::ranges::none_of(nodes, is_same)) nodes.push_back({owner_, *graph_, graph_->graph.node(id)});
  });
  return nodes;
}
std::vector<Node> Node::users() const {
  std::vector<Node> nodes;
  for (const NodeId id : node_->users) nodes.push_back({owner_, *graph_, graph_->graph.node(id)});
  return nodes;
}
const Scope& Node::scope() const { return *node_->scope; }
Meta Node::meta() const { return {owner_, *node_->meta}; }
std::optional<SourceLocation> Node::source() const { return *node_->source; }
const std::string& Node::method() const { return *node_->method; }
std::optional<Size> Node::macs() const { return *node_->cost ? size_of((*node_->cost)->macs) : std::nullopt; }
std::optional<Size> Node::result_bytes() const {
  return *node_->cost ? size_of((*node_->cost)->activation_bytes) : std::nullopt;
}
const std::vector<std::string>& Node::program_nodes() const { return node_->program->nodes; }
std::string Node::text() const { return print_node(graph_->graph, *node_); }
Graph Node::graph() const { return {owner_, *graph_}; }

const std::string& Graph::module() const { return graph_->module; }
const std::string& Graph::type() const { return graph_->type; }
std::size_t Graph::size() const { return graph_->graph.size(); }
std::vector<Node> Graph::nodes() const {
  std::vector<Node> nodes;
  nodes.reserve(size());
  const internal::Graph& graph = graph_->graph;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id))
    nodes.push_back({owner_, *graph_, graph.node(id)});
  return nodes;
}
Node Graph::node(NodeId id) const {
  if (!graph_->graph.contains(id)) throw internal::usage_error("the graph has no node with that id");
  return {owner_, *graph_, graph_->graph.node(id)};
}
std::optional<Node> Graph::find(const std::string& name) const {
  const internal::Node* found = graph_->graph.find(name);
  return found != nullptr ? std::optional(node(found->id)) : std::nullopt;
}
std::vector<Guard> Graph::guards() const {
  std::vector<Guard> guards;
  for (const internal::Guard& guard : graph_->guards)
    guards.push_back({guard.expr.text(), guard.reason, guard.source, guard.assumption});
  return guards;
}
std::vector<std::pair<std::string, Graph>> Graph::subgraphs() const {
  std::vector<std::pair<std::string, Graph>> graphs;
  for (const internal::Subgraph& subgraph : graph_->subgraphs)
    graphs.emplace_back(subgraph.name, Graph(owner_, subgraph.graph));
  return graphs;
}
std::vector<std::string> Graph::module_order() const {
  return graph_->execution ? graph_->execution->module_forward_order : std::vector<std::string>();
}
std::vector<std::string> Graph::parameter_order() const {
  return graph_->execution ? graph_->execution->param_forward_order : std::vector<std::string>();
}
std::optional<Size> Graph::macs() const { return graph_->cost ? size_of(graph_->cost->macs) : std::nullopt; }
std::optional<Size> Graph::peak_bytes() const {
  return graph_->cost ? size_of(graph_->cost->peak_bytes) : std::nullopt;
}

}  // namespace fxtrace
