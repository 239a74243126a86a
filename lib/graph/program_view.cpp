#include "graph/program_view.h"

#include <array>

#include "graph/subgraph_call.h"

namespace fxtrace::internal {
namespace {

const std::string& name_in(const std::unordered_map<std::uint32_t, std::string>& names, const Node& node) {
  const auto found = names.find(node.id.index);
  return found == names.end() ? node.name : found->second;
}

}  // namespace

const ProgramNode& ProgramView::facts(NodeId id) const {
  static const ProgramNode none;
  return id.index < table_->nodes.size() ? table_->nodes[id.index] : none;
}

bool ProgramView::is_operation(NodeId id) const {
  const Opcode op = node(id).op;
  return op != Opcode::kPlaceholder && op != Opcode::kGetAttr && op != Opcode::kOutput &&
         !facts(id).is_result;
}

std::vector<NodeId> ProgramView::inputs() const { return inputs_of(graph()); }

std::vector<NodeId> ProgramView::operations() const {
  std::vector<NodeId> found;
  found.reserve(graph().size());
  for (NodeId id = graph().first(); id.valid(); id = graph().next(id)) {
    if (is_operation(id)) found.push_back(id);
  }
  return found;
}

std::vector<NodeId> ProgramView::objects() const {
  std::vector<NodeId> found;
  for (NodeId id = graph().first(); id.valid(); id = graph().next(id)) {
    if (node(id).op == Opcode::kGetAttr) found.push_back(id);
  }
  return found;
}

const Argument* ProgramView::find_output() const {
  const NodeId last = graph().last();
  const bool is_there = last.valid() && node(last).op == Opcode::kOutput && !node(last).args.empty();
  return is_there ? &node(last).args.front() : nullptr;
}

std::vector<Argument> ProgramView::outputs() const {
  const Argument* output = find_output();
  if (output == nullptr) return {};
  const auto* tuple = output->get_if<Argument::Tuple>();
  return tuple == nullptr ? std::vector{*output} : tuple->items;
}

bool ProgramView::has_single_output() const {
  const Argument* output = find_output();
  return output != nullptr && !output->is<Argument::Tuple>();
}

void ProgramView::add_results(NodeId of, std::vector<std::int64_t>& path,
                              std::vector<ProgramResult>& results) const {
  for (const NodeId user : node(of).users) {
    if (!facts(user).is_result) continue;
    path.push_back(*node(user).args[1].get_if<std::int64_t>());
    if (facts(user).gives_value)
      results.push_back({user, path});
    else
      add_results(user, path, results);
    path.pop_back();
  }
}

std::vector<ProgramResult> ProgramView::results(NodeId operation) const {
  if (facts(operation).gives_value) return {{operation, {}}};
  std::vector<ProgramResult> found;
  std::vector<std::int64_t> path;
  add_results(operation, path, found);
  return found;
}

bool ProgramView::has_results(NodeId operation) const {
  return facts(operation).gives_value || !node(operation).users.empty();
}

const std::string& ProgramView::value_name(NodeId value) const {
  return name_in(table_->value_names, node(value));
}

const std::string& ProgramView::operation_name(NodeId operation) const {
  return name_in(table_->operation_names, node(operation));
}

std::unordered_map<std::string_view, NodeId> ProgramView::values_by_name() const {
  std::unordered_map<std::string_view, NodeId> values;
  for (NodeId id = graph().first(); id.valid(); id = graph().next(id)) {
    const bool is_value = node(id).op != Opcode::kOutput && facts(id).gives_value;
    if (is_value && !value_name(id).empty()) values.emplace(value_name(id), id);
  }
  return values;
}

const Argument* ProgramView::find_fixed(NodeId value) const {
  const auto found = table_->fixed.find(value.index);
  return found == table_->fixed.end() ? nullptr : &found->second;
}

std::optional<ProgramView> ProgramView::find_subgraph(std::string_view name) const {
  const ModuleGraph* graph = graph_->subgraphs.find_graph(name);
  const auto table = table_->subgraphs.find(name);
  if (graph == nullptr || table == table_->subgraphs.end()) return std::nullopt;
  return ProgramView(*graph, table->second);
}

std::size_t ProgramView::count_subgraphs(NodeId operation) const {
  std::size_t count = 0;
  for_each_subgraph(operation, [&](const std::string&, const ProgramView&) { ++count; });
  return count;
}

NodeId ExportedGraph::append_list(NodeId of, std::int64_t index) {
  const NodeId list = append_item(
      of, index, [&](Graph::NodeSpec spec) { return module_graph.graph.append(std::move(spec)); });
  table.at(list).gives_value = false;
  return list;
}

NodeId ExportedGraph::append_value(Graph::NodeSpec spec, std::string_view name) {
  spec.name = name;
  const NodeId id = module_graph.graph.append(std::move(spec));
  if (module_graph.graph.node(id).name != name) table.value_names.emplace(id.index, name);
  return id;
}

void ExportedGraph::name_operation(NodeId operation, std::string_view name) {
  if (view().operation_name(operation) != name)
    table.operation_names.insert_or_assign(operation.index, std::string(name));
}

const char* to_string(ProgramFaultKind kind) {
  constexpr std::array<const char*, kProgramFaultKinds> kNames = {"form", "signature", "record",
                                                                  "meta", "call",      "module"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace fxtrace::internal
