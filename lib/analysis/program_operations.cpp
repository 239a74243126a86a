#include "analysis/program_operations.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/node_arguments.h"
#include "operators/higher_order.h"
#include "operators/operators.h"
#include "opinfo/operator_entry.h"
#include "opinfo/traits.h"
#include "support/error.h"

namespace fxtrace {
namespace {

// Returns the argument that the operation changes in place and returns: the first one of aten.add_.Tensor.
std::optional<NodeId> changed_in_place(const Node& operation, const Operator* op) {
  if (op == nullptr || !may_write(op)) return std::nullopt;
  const OperatorEntry& entry = entry_of(*op);
  for (const Alias& alias : entry.aliases) {
    if (alias.result != 0 || !entry.schema.is_written(alias.argument)) continue;
    const Argument* argument = NodeArguments(operation, entry).find_argument(alias.argument);
    const auto* value = argument == nullptr ? nullptr : argument->get_if<NodeId>();
    if (value != nullptr) return *value;
  }
  return std::nullopt;
}

}  // namespace

void for_each_lasting_operand(const Node& operation, const ProgramView& subgraph,
                              const std::function<void(NodeId, const Argument&)>& f) {
  const bool is_loop = subgraph_runs(target_parts(operation)) == SubgraphRuns::kRepeated;
  std::vector<const Argument*> operands;
  bool behind_subgraph = false;
  for (const Argument& argument : operation.args) {
    const auto* list = argument.get_if<Argument::List>();
    if (argument.is<Argument::GraphRef>()) {
      behind_subgraph = true;
      operands.clear();
    } else if (!behind_subgraph || argument.is<std::string>() || argument.is<Argument::Dict>()) {
      continue;  // after the subgraph, invoke_subgraph has a name and flex_gemm has options
    } else if (list == nullptr) {
      operands.push_back(&argument);
    } else {
      if (is_loop) operands.clear();  // only the last list stays the same
      for (const auto& item : list->items) operands.push_back(&item);
    }
  }
  const std::vector<NodeId> inputs = subgraph.inputs();
  if (operands.size() > inputs.size() || (!is_loop && operands.size() != inputs.size())) return;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    f(inputs[inputs.size() - operands.size() + i], *operands[i]);
  }
}

bool is_region(const ProgramView& graph, NodeId operation) {
  return graph.count_subgraphs(operation) == 1 &&
         subgraph_runs(target_parts(graph.node(operation))) == SubgraphRuns::kOnce;
}

std::string_view aten_name(const Node& node) {
  if (node.op != Opcode::kCallFunction) return {};
  const TargetParts parts = target_parts(node);
  return parts.kind == TargetKind::kOperator && parts.space == "aten" ? parts.name : std::string_view();
}

std::string name_of_node(const ProgramView& graph, NodeId operation) {
  const std::string& name = graph.operation_name(operation);
  if (!name.empty()) return name;
  const std::vector<ProgramResult> results = graph.results(operation);
  return results.empty() ? *graph.node(operation).target : graph.value_name(results.front().value);
}

bool is_user_output(SignatureRole role) {
  return role == SignatureRole::kUserOutput || role == SignatureRole::kLossOutput;
}

bool is_result(SignatureRole role) {
  return is_user_output(role) || role == SignatureRole::kGradientToParameter ||
         role == SignatureRole::kGradientToUserInput;
}

std::vector<std::int64_t> fixed_shape(const ProgramView& graph, NodeId value) {
  std::vector<std::int64_t> shape;
  for (const Expression& size : graph.meta(value).shape.value_or(std::vector<Expression>())) {
    const auto number = size.number();
    if (!number) {
      throw input_error("the tensor '" + graph.value_name(value).substr(0, 100) +
                        "' of the model has a size that is not a number: " + size.text().substr(0, 100));
    }
    shape.push_back(*number);
  }
  return shape;
}

Argument constant_argument(const Argument& operand) {
  return map_references(operand, [](NodeId) -> Argument {
    throw Error(ErrorKind::kInternal, "a constant of the program refers to one of its values");
  });
}

std::vector<std::uint32_t> count_uses(const ProgramView& graph) {
  std::vector<std::uint32_t> uses(graph.graph().id_count(), 0);
  const auto count = [&](NodeId value) { ++uses[value.index]; };
  for (const NodeId operation : graph.operations()) for_each_input(graph.node(operation), count);
  for (const Argument& output : graph.outputs()) for_each_reference(output, count);
  return uses;
}

std::vector<NodeId> origins(const ProgramView& graph) {
  std::vector<NodeId> result;
  result.reserve(graph.graph().id_count());
  for (std::uint32_t i = 0; i < graph.graph().id_count(); ++i) result.push_back(NodeId{i});
  for (const NodeId operation : graph.operations()) {
    for_each_handed_on(graph, operation,
                       [&](NodeId value, NodeId argument) { result[value.index] = result[argument.index]; });
  }
  return result;
}

Boundary boundary_of(const ProgramView& graph, const std::vector<NodeId>& operations,
                     const std::vector<std::uint32_t>& uses, const std::function<bool(NodeId)>& is_own) {
  Boundary boundary;
  std::unordered_map<std::uint32_t, std::uint32_t> inside;  // uses here, by value made here
  std::unordered_set<std::uint32_t> seen;
  std::unordered_map<std::uint32_t, NodeId> from;  // by value made here: the value from outside that it is
  bool changes_something = false;
  for (const NodeId operation : operations) {
    for_each_input(graph.node(operation), [&](NodeId value) {
      const auto made_here = inside.find(value.index);
      if (made_here != inside.end()) {
        ++made_here->second;
      } else if (!is_own(value) && seen.insert(value.index).second) {
        boundary.entering.push_back(value);
      }
    });
    bool hands_on = false;
    for_each_handed_on(graph, operation, [&](NodeId value, NodeId argument) {
      const auto earlier = from.find(argument.index);
      if (earlier == from.end() && inside.count(argument.index) != 0) return;
      from.emplace(value.index, earlier == from.end() ? argument : earlier->second);
      hands_on = true;
    });
    changes_something = changes_something || (!hands_on && effect_of(graph, operation) == Effect::kWrites);
    graph.for_each_result(operation, [&](NodeId value) { inside.emplace(value.index, 0); });
  }
  for (const NodeId operation : operations) {
    graph.for_each_result(operation, [&](NodeId value) {
      if (uses[value.index] <= inside.at(value.index) || is_own(value)) return;
      const auto same = from.find(value.index);
      if (same == from.end()) {
        boundary.leaving.push_back(value);
      } else {
        boundary.handed_on.emplace_back(value, same->second);
      }
    });
  }
  if (boundary.leaving.empty() && !changes_something) {
    for (const auto& [value, same] : boundary.handed_on) boundary.leaving.push_back(value);
    boundary.handed_on.clear();
  }
  return boundary;
}

Effect effect_of(const ProgramView& graph, NodeId operation) {
  const ProgramNode& facts = graph.facts(operation);
  if (facts.has_effect) return Effect::kWrites;
  const Node& node = graph.node(operation);
  const TargetParts parts = target_parts(node);
  const bool is_python =
      parts.kind == TargetKind::kPython &&
      (parts.space == "operator" || parts.space == "math" || node.target->starts_with("torch.sym_"));
  if (is_python) return Effect::kSymbolic;
  const Operator* op = facts.op;
  if (has_trait(op, traits::kGivesSize | traits::kAsserts)) return Effect::kSymbolic;
  if (may_write(op) || has_trait(op, traits::kSideEffect)) return Effect::kWrites;
  return is_pure(op) ? Effect::kPure : Effect::kRandom;
}

const Expression* asserted_condition(const ProgramView& graph, NodeId operation) {
  const Node& node = graph.node(operation);
  if (node.args.empty() || aten_name(node) != "_assert_scalar") return nullptr;
  const auto* value = node.args.front().get_if<NodeId>();
  if (value == nullptr) return nullptr;
  const Meta& meta = graph.meta(*value);
  return meta.value && meta.kind() == ValueKind::kBool ? &*meta.value : nullptr;
}

void for_each_handed_on(const ProgramView& graph, NodeId operation,
                        const std::function<void(NodeId, NodeId)>& f) {
  const Node& node = graph.node(operation);
  if (is_region(graph, operation)) {
    graph.for_each_subgraph(operation, [&](const std::string&, const ProgramView& subgraph) {
      std::unordered_map<std::uint32_t, const Argument*> by_input;
      for_each_lasting_operand(node, subgraph, [&](NodeId input, const Argument& operand) {
        by_input.emplace(input.index, &operand);
      });
      const auto origin = origins(subgraph);
      const std::vector<Argument> outputs = subgraph.outputs();
      for (const auto& [value, path] : graph.results(operation)) {
        const std::size_t index = path.empty() ? 0 : static_cast<std::size_t>(path.front());
        const auto* result = index < outputs.size() ? outputs[index].get_if<NodeId>() : nullptr;
        const auto operand = result != nullptr ? by_input.find(origin[result->index].index) : by_input.end();
        const auto* same = operand != by_input.end() ? operand->second->get_if<NodeId>() : nullptr;
        if (same != nullptr) f(value, *same);
      }
    });
    return;
  }
  const auto& given_back = graph.table().given_back;
  if (!given_back.empty()) {
    graph.for_each_result(operation, [&](NodeId value) {
      const auto found = given_back.find(value.index);
      if (found != given_back.end()) f(value, found->second);
    });
  }
  if (!graph.facts(operation).gives_value) return;
  if (const auto changed = changed_in_place(node, graph.facts(operation).op)) f(operation, *changed);
}

std::vector<std::pair<NodeId, NodeId>> may_give_back(const ProgramView& graph, NodeId operation) {
  const Operator* op = graph.facts(operation).op;
  const Node& node = graph.node(operation);
  if (!has_trait(op, traits::kMayBeArgument) || node.args.empty()) return {};
  if (const auto* list = node.args.front().get_if<Argument::List>()) {
    const std::vector<ProgramResult> results = graph.results(operation);
    std::vector<std::pair<NodeId, NodeId>> pairs;
    for (std::size_t i = 0; i < std::min(results.size(), list->items.size()); ++i) {
      if (const auto* item = list->items[i].get_if<NodeId>()) pairs.emplace_back(results[i].value, *item);
    }
    return pairs;
  }
  const auto* value = node.args.front().get_if<NodeId>();
  if (value == nullptr || !graph.facts(operation).gives_value) return {};
  // x.to(..., copy=True)
  const Argument* copy = NodeArguments(node, entry_of(*op)).find_argument("copy");
  if (copy != nullptr && *copy == Argument(true)) return {};
  // Dropout (x, p, train) drops nothing if p is 0 or train is false.
  const bool drops =
      has_trait(op, traits::kRandom) &&
      (node.args.size() != 3 || (node.args[1] != Argument(0.0) && node.args[2] != Argument(false)));
  if (drops) return {};
  return {{operation, *value}};
}

}  // namespace fxtrace
