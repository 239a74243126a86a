#include <algorithm>
#include <filesystem>
#include <ostream>

#include "api/public_parts.h"
#include "fxtrace/collection.h"
#include "fxtrace/graph.h"
#include "graph/analysis/text_form.h"
#include "graph/graph_collection.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "support/error.h"
#include "writers/graphs/collection_writers.h"
#include "writers/graphs/fx_writer.h"
#include "writers/pictures/dot_writer.h"
#include "writers/pictures/html_writer.h"
#include "writers/pictures/mermaid_writer.h"
#include "writers/pictures/model_explorer_writer.h"

namespace fxtrace {
namespace {

GraphCollection owned(internal::GraphCollection collection) {
  return GraphCollection(std::make_shared<const internal::GraphCollection>(std::move(collection)));
}

}  // namespace

const std::string& Module::path() const { return record_->path; }
const std::string& Module::type() const { return record_->type; }
ModuleStatus Module::status() const { return record_->status; }
std::optional<std::string> Module::alias_of() const { return record_->alias_of; }
std::optional<std::string> Module::rule() const { return record_->rule; }
std::int64_t Module::calls() const { return record_->calls; }
std::optional<Failure> Module::failure() const { return record_->failure; }
const std::vector<std::pair<std::string, Argument>>& Module::attributes() const {
  return record_->attributes;
}

const std::string& Parameter::name() const { return record_->name; }
ParameterKind Parameter::kind() const { return record_->kind; }
const std::vector<std::int64_t>& Parameter::shape() const { return record_->shape; }
const std::string& Parameter::dtype() const { return record_->dtype; }
std::optional<std::string> Parameter::alias_of() const { return record_->alias_of; }
std::string Parameter::device() const { return record_->device.value_or("cpu"); }

GraphCollection GraphCollection::open(const std::string& file, const Listener& listener) {
  return owned(internal::read_collection_file(internal::ModelFile(file), internal::filled(listener)));
}

GraphCollection GraphCollection::of_json(const std::string& text, const std::string& name) {
  return owned(internal::read_collection_file(internal::ModelFile::of_bytes(text, name), Listener()));
}

const std::string& GraphCollection::file() const { return owner_->model.file; }
const std::string& GraphCollection::kind() const { return owner_->model.kind; }
const std::string& GraphCollection::type() const { return owner_->model.type; }
const std::string& GraphCollection::method() const { return owner_->model.method; }

std::vector<Graph> GraphCollection::graphs() const {
  std::vector<Graph> graphs;
  for (const internal::ModuleGraph& graph : owner_->graphs) graphs.emplace_back(owner_, graph);
  return graphs;
}

Graph GraphCollection::root() const {
  if (auto root = find_graph("")) return *std::move(root);
  const auto module = find_module("");
  const auto failure = module ? module->failure() : std::nullopt;
  throw internal::input_error("the model has no graph" + (failure ? ": " + failure->message : std::string()))
      .at(owner_->model.file)
      .in(failure ? failure->module : "");
}

std::optional<Graph> GraphCollection::find_graph(const std::string& module) const {
  const auto found = std::ranges::find(owner_->graphs, module, &internal::ModuleGraph::module);
  return found == owner_->graphs.end() ? std::nullopt : std::optional(Graph(owner_, *found));
}

std::vector<Module> GraphCollection::modules() const {
  std::vector<Module> modules;
  for (const internal::ModuleRecord& record : owner_->modules) modules.emplace_back(owner_, record);
  return modules;
}

std::optional<Module> GraphCollection::find_module(const std::string& path) const {
  const auto found = std::ranges::find(owner_->modules, path, &internal::ModuleRecord::path);
  return found == owner_->modules.end() ? std::nullopt : std::optional(Module(owner_, *found));
}

std::vector<Module> GraphCollection::failed() const {
  std::vector<Module> failed = modules();
  std::erase_if(failed, [](const Module& module) {
    return module.status() != ModuleStatus::kFailed || module.alias_of();
  });
  return failed;
}

std::vector<Parameter> GraphCollection::parameters() const {
  std::vector<Parameter> parameters;
  for (const internal::ParameterRecord& record : owner_->parameters) parameters.emplace_back(owner_, record);
  return parameters;
}

const std::vector<std::string>& GraphCollection::unused_parameters() const {
  return owner_->unused_parameters;
}

TraceOptions GraphCollection::options() const { return internal::saved_options(*owner_).options; }

void GraphCollection::write(std::ostream& out, CollectionFormat format) const {
  switch (format) {
    case CollectionFormat::kJson:
      return write_json(*owner_, out);
    case CollectionFormat::kText:
      return write_text(*owner_, out);
    case CollectionFormat::kFx:
      return write_fx(*owner_, out);
    case CollectionFormat::kDot:
      return write_dot(*owner_, out, {}, {});
    case CollectionFormat::kMermaid:
      return write_mermaid(*owner_, out, {});
    case CollectionFormat::kHtml:
      return write_html(*owner_, out, {}, {});
    case CollectionFormat::kModelExplorer:
      return write_model_explorer(*owner_, out);
    case CollectionFormat::kGraph:
      return write_torch_graph(*owner_, out);
  }
  internal::fail_for_format("a collection");
}

GraphCollection GraphCollection::with_passes(const std::vector<std::string>& passes,
                                             const Listener& listener) const {
  internal::check_passes(passes);
  internal::GraphCollection changed = *owner_;
  run_passes(passes, changed, internal::filled(listener));
  add_to_options(passes, changed);
  return owned(std::move(changed));
}

GraphCollection GraphCollection::extract(const Part& part) const {
  return owned(extract_part(*owner_, internal::request_of(part)));
}

Summary GraphCollection::summary(const SummaryOptions& how) const {
  internal::GraphCollection collection = *owner_;  // whose costs are computed at the sizes
  return internal::summary_of(
      summarize_collection(internal::request_of(how), collection, internal::filled({})));
}
Order GraphCollection::order() const { return internal::order_of(*owner_); }

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
