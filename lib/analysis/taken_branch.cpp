#include "analysis/taken_branch.h"

#include <algorithm>
#include <utility>

#include "graph/rewrite.h"
#include "graph/subgraph_call.h"
#include "operators/target.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

// Returns whether the known sizes and numbers agree: later nodes may refer to these symbols.
bool has_same_sizes(const Meta& a, const Meta& b) {
  return (!a.shape || !b.shape || a.shape == b.shape) && (!a.value || !b.value || a.value == b.value);
}

// Returns false if the sizes of the result have symbols of their own, to which other nodes may refer.
bool is_as_known(const Graph& graph, const Meta& known, const Graph& branch, const Argument& given,
                 const std::vector<NodeId>& inputs, const std::vector<Argument>& operands) {
  const auto* id = given.get_if<NodeId>();
  if (id == nullptr) return !known.value || known.value->kind() == Expression::Kind::kConstant;
  const auto input = std::ranges::find(inputs, *id);
  if (input == inputs.end()) return has_same_sizes(known, branch.node(*id).meta);
  const auto* operand = operands[static_cast<std::size_t>(input - inputs.begin())].get_if<NodeId>();
  return operand == nullptr || has_same_sizes(known, graph.node(*operand).meta);
}

}  // namespace

std::optional<bool> known_condition(const Graph& graph, const Node& call) {
  if (call.args.empty()) return std::nullopt;
  const Argument& condition = call.args.front();
  std::optional<bool> known;
  if (const auto* flag = condition.get_if<bool>()) known = *flag;
  if (const auto* number = condition.get_if<double>()) known = *number != 0;
  if (const auto number = known_integer(graph, condition)) known = *number != 0;
  if (!known) return std::nullopt;
  const TargetParts parts = parse_target(call.target);
  return parts.kind == TargetKind::kHigherOrder && parts.name == "cond" ? known : std::nullopt;
}

const ModuleGraph* TakenBranches::find_branch(const Node& call, bool condition) {
  if (call.args.size() != 4 || !call.kwargs.empty()) return nullptr;
  const auto* reference = call.args[condition ? 1 : 2].get_if<Argument::GraphRef>();
  return reference == nullptr ? nullptr : graph_->subgraphs.find_graph(reference->name);
}

std::string TakenBranches::obstacle(const Node& call, bool condition) {
  const ModuleGraph* branch = find_branch(call, condition);
  const auto* operands = call.args.size() == 4 ? call.args[3].get_if<Argument::List>() : nullptr;
  if (branch == nullptr || operands == nullptr) return call.name + " has an unexpected form";
  const Graph& body = branch->graph;
  const std::vector<NodeId> inputs = inputs_of(body);
  const auto* outputs = outputs_of(body);
  if (outputs == nullptr || inputs.size() != operands->items.size())
    return call.name + " has an unexpected form";
  if (semantics_->writes_inputs(*branch))
    return "the branch that " + call.name + " takes may write an operand";
  if (!branch->guards.empty()) return "the branch that " + call.name + " takes has guards";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto* operand = operands->items[i].get_if<NodeId>();
    if (operand != nullptr && !has_same_sizes(graph_->graph.node(*operand).meta, body.node(inputs[i]).meta)) {
      return "an operand of " + call.name + " has other symbolic sizes in the branch";
    }
  }
  for (NodeId id = body.first(); id.valid(); id = body.next(id)) {
    const Node& node = body.node(id);
    if (!node.program->nodes.empty()) return node.name + " stands for nodes of the exported program";
    std::ptrdiff_t named = 0;
    for_each_of<Argument::GraphRef>(node, [&](const auto&) { ++named; });
    if (named != std::ranges::count_if(node.args, &Argument::is<Argument::GraphRef>)) {
      return node.name + " names a subgraph in a nested argument";
    }
  }
  for (const NodeId user : call.users) {
    const Node& item = graph_->graph.node(user);
    const auto index = item_index(item);
    if (!index || *index >= outputs->size()) return call.name + " is used as a whole";
    if (!is_as_known(graph_->graph, item.meta, body, (*outputs)[*index], inputs, operands->items)) {
      return "results of " + call.name + " have symbolic sizes of their own";
    }
  }
  return "";
}

std::string TakenBranches::unused_name(const std::string& name) {
  if (names_.insert(name).second) return name;
  const std::string stem(without_last_number(name));
  std::string other;
  do {
    other = stem + std::to_string(next_[stem]++);
  } while (!names_.insert(other).second);
  return other;
}

TakenBranches::Names TakenBranches::add_parts(const ModuleGraph& branch) {
  if (names_.empty()) {
    for (const Subgraph& subgraph : graph_->subgraphs) names_.insert(subgraph.name);
    for (const auto& [name, constant] : graph_->constants) names_.insert(name);
  }
  Names names;
  for (const auto& [name, constant] : branch.constants) {
    graph_->constants.emplace_back(names[name] = unused_name(name), constant);
  }
  std::vector<Subgraph> added;
  for (const Subgraph& subgraph : branch.subgraphs) {
    added.push_back({names[subgraph.name] = unused_name(subgraph.name), subgraph.graph});
  }
  for (Subgraph& subgraph : added) graph_->subgraphs.add(std::move(subgraph));
  return names;
}

TakenBranches::Inlined TakenBranches::put_before(NodeId call, bool condition) {
  const Node& node = graph_->graph.node(call);
  const ModuleGraph& taken = *find_branch(node, condition);
  const Graph branch = taken.graph;  // a copy, as adding subgraphs moves the original
  const std::vector<Argument> operands = node.args[3].get_if<Argument::List>()->items;
  const Names names = add_parts(taken);
  semantics_->forget_subgraphs();

  std::unordered_map<std::uint32_t, Argument> values;  // by node of the branch
  const std::vector<NodeId> inputs = inputs_of(branch);
  for (std::size_t i = 0; i < inputs.size(); ++i) values.emplace(inputs[i].index, operands[i]);
  const auto value = [&](NodeId id) { return values.at(id.index); };
  const auto here = [&](const Argument& argument) -> Argument {
    if (const auto* reference = argument.get_if<Argument::GraphRef>()) {
      return Argument::GraphRef{names.at(reference->name)};
    }
    return map_references(argument, value);
  };
  Inlined result;
  for (const NodeId id : branch.order()) {
    const Node& each = branch.node(id);
    if (each.op == Opcode::kPlaceholder || each.op == Opcode::kOutput) continue;
    const auto name = each.op == Opcode::kGetAttr ? names.find(each.target) : names.end();
    Graph::NodeSpec spec = copy_of(each, here);
    if (name != names.end()) spec.target = name->second;
    const NodeId made = graph_->graph.insert_before(call, std::move(spec));
    values.emplace(id.index, made);
    result.nodes.push_back(made);
  }
  Argument::Tuple given;
  for (const Argument& item : *outputs_of(branch)) given.items.push_back(here(item));
  result.result = std::move(given);
  return result;
}

}  // namespace fxtrace::internal
