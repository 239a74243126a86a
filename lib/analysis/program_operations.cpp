#include "analysis/program_operations.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "opinfo/operator_entry.h"
#include "opinfo/traits.h"
#include "support/error.h"

namespace fxtrace::internal {
namespace {

Effects effects_of(const ProgramView& graph, NodeId operation) {
  static const GraphCollection none;
  const Operator* op = graph.facts(operation).op;
  const Node& node = graph.node(operation);
  return op != nullptr ? effects_of_operator(graph.graph(), node, entry_of(*op))
                       : Semantics(none).effects(graph.module_graph(), node);
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
  const Effects effects = effects_of(graph, operation);
  if (facts.has_effect || effects.is_unknown || effects.has_side_effect || !effects.written.empty())
    return Effect::kWrites;
  if (effects.is_random) return Effect::kRandom;
  // Functions of Python compute with numbers in a program, or take items.
  const bool is_symbolic = facts.op != nullptr
                               ? effects.asserts || !effects.reads_elements
                               : target_parts(graph.node(operation)).kind == TargetKind::kPython;
  return is_symbolic ? Effect::kSymbolic : Effect::kPure;
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
  if (graph.facts(operation).op == nullptr || !graph.facts(operation).gives_value) return;
  const Effects effects = effects_of(graph, operation);
  const auto changed = std::ranges::find_first_of(effects.shared, effects.written);
  if (!effects.is_unknown && changed != effects.shared.end()) f(operation, *changed);
}

std::vector<std::pair<NodeId, NodeId>> may_give_back(const ProgramView& graph, NodeId operation) {
  std::vector<std::pair<NodeId, NodeId>> pairs;
  if (!has_trait(graph.facts(operation).op, traits::kMayBeArgument)) return pairs;
  const Effects effects = effects_of(graph, operation);
  if (effects.is_random || !effects.written.empty()) return pairs;
  const std::vector<ProgramResult> results = graph.results(operation);
  for (std::size_t i = 0; i < std::min(results.size(), effects.shared.size()); ++i)
    pairs.emplace_back(results[i].value, effects.shared[i]);
  return pairs;
}

}  // namespace fxtrace::internal
