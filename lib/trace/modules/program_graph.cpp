#include "trace/modules/program_graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "operators/higher_order.h"
#include "operators/operators.h"
#include "opinfo/operator_entry.h"
#include "opinfo/traits.h"
#include "support/error.h"

namespace fxtrace {
namespace {

// Returns the operand for the schema's argument `index`; null when it was left out.
const Argument* find_argument(const Operation& operation, const Schema& schema, std::size_t index) {
  return find_argument(operation, index, schema.arguments[index].name);
}

// Returns the argument that the operation changes in place and returns: the first one of aten.add_.Tensor.
std::optional<NodeId> changed_in_place(const Operation& operation) {
  const Operator* op = operation.target.find_operator();
  if (op == nullptr || !may_write(op)) return std::nullopt;
  const Schema schema = op->schema();
  for (const Alias& alias : entry_of(*op).aliases) {
    if (alias.result != 0 || !schema.arguments[alias.argument].is_written) continue;
    const Argument* argument = find_argument(operation, schema, alias.argument);
    const auto* value = argument == nullptr ? nullptr : argument->get_if<NodeId>();
    if (value != nullptr) return *value;
  }
  return std::nullopt;
}

}  // namespace

void for_each_lasting_operand(const Operation& operation, const ProgramGraph& subgraph,
                              const std::function<void(NodeId, const Argument&)>& f) {
  const bool is_loop = subgraph_runs(operation.target.parts()) == SubgraphRuns::kRepeated;
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
  const auto& inputs = subgraph.inputs;
  if (operands.size() > inputs.size() || (!is_loop && operands.size() != inputs.size())) return;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    f(inputs[inputs.size() - operands.size() + i].value, *operands[i]);
  }
}

bool is_region(const Operation& operation) {
  return operation.subgraphs.size() == 1 && subgraph_runs(operation.target.parts()) == SubgraphRuns::kOnce;
}

std::string name_of_node(const ProgramGraph& graph, const Operation& operation) {
  if (!operation.name.empty()) return operation.name;
  if (operation.outputs.empty()) return operation.target.text();
  return graph.values[operation.outputs.front().value.index].name;
}

bool is_user_output(SignatureRole role) {
  return role == SignatureRole::kUserOutput || role == SignatureRole::kLossOutput;
}

bool is_result(SignatureRole role) {
  return is_user_output(role) || role == SignatureRole::kGradientToParameter ||
         role == SignatureRole::kGradientToUserInput;
}

std::vector<std::int64_t> fixed_shape(const ProgramValue& value) {
  std::vector<std::int64_t> shape;
  for (const Expression& size : value.meta.shape.value_or(std::vector<Expression>())) {
    const auto number = size.number();
    if (!number) {
      throw input_error("the tensor '" + value.name.substr(0, 100) +
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

std::vector<std::uint32_t> count_uses(const ProgramGraph& graph) {
  std::vector<std::uint32_t> uses(graph.values.size(), 0);
  const auto count = [&](NodeId value) { ++uses[value.index]; };
  for (const Operation& operation : graph.operations) for_each_input(operation, count);
  for (const Argument& output : graph.outputs) for_each_reference(output, count);
  return uses;
}

std::vector<NodeId> origins(const ProgramGraph& graph) {
  std::vector<NodeId> result;
  result.reserve(graph.values.size());
  for (std::uint32_t i = 0; i < graph.values.size(); ++i) result.push_back(NodeId{i});
  for (const Operation& operation : graph.operations) {
    for_each_handed_on(operation,
                       [&](NodeId value, NodeId argument) { result[value.index] = result[argument.index]; });
  }
  return result;
}

Boundary boundary_of(const ProgramGraph& graph, const std::vector<std::uint32_t>& operations,
                     const std::vector<std::uint32_t>& uses, const std::function<bool(NodeId)>& is_own) {
  Boundary boundary;
  std::unordered_map<std::uint32_t, std::uint32_t> inside;  // uses here, by value made here
  std::unordered_set<std::uint32_t> seen;
  std::unordered_map<std::uint32_t, NodeId> from;  // by value made here: the value from outside that it is
  bool changes_something = false;
  for (const auto index : operations) {
    const Operation& operation = graph.operations[index];
    for_each_input(operation, [&](NodeId value) {
      const auto made_here = inside.find(value.index);
      if (made_here != inside.end()) {
        ++made_here->second;
      } else if (!is_own(value) && seen.insert(value.index).second) {
        boundary.entering.push_back(value);
      }
    });
    bool hands_on = false;
    for_each_handed_on(operation, [&](NodeId value, NodeId argument) {
      const auto earlier = from.find(argument.index);
      if (earlier == from.end() && inside.count(argument.index) != 0) return;
      from.emplace(value.index, earlier == from.end() ? argument : earlier->second);
      hands_on = true;
    });
    changes_something = changes_something || (!hands_on && effect_of(operation) == Effect::kWrites);
    for (const auto& output : operation.outputs) inside.emplace(output.value.index, 0);
  }
  for (const auto index : operations) {
    for (const auto& [value, path] : graph.operations[index].outputs) {
      if (uses[value.index] <= inside.at(value.index) || is_own(value)) continue;
      const auto same = from.find(value.index);
      if (same == from.end()) {
        boundary.leaving.push_back(value);
      } else {
        boundary.handed_on.emplace_back(value, same->second);
      }
    }
  }
  if (boundary.leaving.empty() && !changes_something) {
    for (const auto& [value, same] : boundary.handed_on) boundary.leaving.push_back(value);
    boundary.handed_on.clear();
  }
  return boundary;
}

Effect effect_of(const Operation& operation) {
  if (operation.has_effect) return Effect::kWrites;
  const TargetParts parts = operation.target.parts();
  const bool is_python =
      parts.kind == TargetKind::kPython && (parts.space == "operator" || parts.space == "math" ||
                                            operation.target.text().starts_with("torch.sym_"));
  if (is_python) return Effect::kSymbolic;
  const Operator* op = operation.target.find_operator();
  if (has_trait(op, traits::kGivesSize | traits::kAsserts)) return Effect::kSymbolic;
  if (may_write(op) || has_trait(op, traits::kSideEffect)) return Effect::kWrites;
  return is_pure(op) ? Effect::kPure : Effect::kRandom;
}

const Expression* asserted_condition(const Operation& operation, const ProgramGraph& graph) {
  if (operation.target.aten_name() != "_assert_scalar" || operation.args.empty()) return nullptr;
  const auto* value = operation.args.front().get_if<NodeId>();
  if (value == nullptr) return nullptr;
  const Meta& meta = graph.values[value->index].meta;
  return meta.value && meta.kind() == ValueKind::kBool ? &*meta.value : nullptr;
}

void for_each_handed_on(const Operation& operation, const std::function<void(NodeId, NodeId)>& f) {
  if (is_region(operation)) {
    const ProgramGraph& subgraph = operation.subgraphs.front().graph;
    std::unordered_map<std::uint32_t, const Argument*> by_input;
    for_each_lasting_operand(operation, subgraph, [&](NodeId input, const Argument& operand) {
      by_input.emplace(input.index, &operand);
    });
    const auto origin = origins(subgraph);
    for (const auto& [value, path] : operation.outputs) {
      const std::size_t index = path.empty() ? 0 : static_cast<std::size_t>(path.front());
      const auto* result =
          index < subgraph.outputs.size() ? subgraph.outputs[index].get_if<NodeId>() : nullptr;
      const auto operand = result != nullptr ? by_input.find(origin[result->index].index) : by_input.end();
      const auto* same = operand != by_input.end() ? operand->second->get_if<NodeId>() : nullptr;
      if (same != nullptr) f(value, *same);
    }
    return;
  }
  for (const auto& [value, argument] : operation.given_back) f(value, argument);
  if (operation.outputs.size() != 1 || !operation.outputs[0].path.empty()) return;
  if (const auto changed = changed_in_place(operation)) f(operation.outputs[0].value, *changed);
}

std::vector<std::pair<NodeId, NodeId>> may_give_back(const Operation& operation) {
  const Operator* op = operation.target.find_operator();
  if (!has_trait(op, traits::kMayBeArgument) || operation.args.empty()) return {};
  const auto& outputs = operation.outputs;
  if (const auto* list = operation.args.front().get_if<Argument::List>()) {
    std::vector<std::pair<NodeId, NodeId>> pairs;
    for (std::size_t i = 0; i < std::min(outputs.size(), list->items.size()); ++i) {
      if (const auto* item = list->items[i].get_if<NodeId>()) pairs.emplace_back(outputs[i].value, *item);
    }
    return pairs;
  }
  const auto* value = operation.args.front().get_if<NodeId>();
  if (value == nullptr || outputs.size() != 1 || !outputs[0].path.empty()) return {};
  const Schema schema = op->schema();
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument* argument = find_argument(operation, schema, i);
    // x.to(..., copy=True)
    if (schema.arguments[i].name == "copy" && argument != nullptr && *argument == Argument(true)) return {};
  }
  // Dropout (x, p, train) drops nothing if p is 0 or train is false.
  const bool drops = has_trait(op, traits::kRandom) &&
                     (operation.args.size() != 3 ||
                      (operation.args[1] != Argument(0.0) && operation.args[2] != Argument(false)));
  if (drops) return {};
  return {{outputs[0].value, *value}};
}

}  // namespace fxtrace
