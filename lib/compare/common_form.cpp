#include "compare/common_form.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "costs/known_arguments.h"
#include "families/family.h"
#include "families/identities.h"
#include "families/infer.h"
#include "graph/fold_numbers.h"
#include "operators/known_numbers.h"
#include "passes/all_passes.h"
#include "passes/support/identity_call.h"
#include "passes/support/rewrite.h"

namespace fxtrace {
namespace {

bool is_dimension(std::string_view name) { return name.starts_with("dim") || name.starts_with("axis"); }

bool is_number(const Argument& argument) {
  return argument.is<bool>() || argument.is<std::int64_t>() || argument.is<double>();
}

// What torch.export does with a tensor that the code makes of numbers.
bool gives_tensor_of_code(const Node& node) {
  return node.target == "aten.lift_fresh_copy.default" || node.target == "aten.detach_.default";
}

// The names of parameters, by the first of those that are tied.
class TiedNames {
 public:
  explicit TiedNames(const GraphCollection& collection) {
    for (const ParameterRecord& record : collection.parameters)
      names_.emplace(record.alias_of.value_or(record.name), record.name);
  }

  // Whether one of its names is that of a parameter of the module.
  bool is_in(const std::string& first_name, const std::string& module) const {
    const std::string prefix = module + ".";
    const auto found = names_.lower_bound(std::pair(first_name, prefix));
    return found != names_.end() && found->first == first_name && found->second.starts_with(prefix);
  }

 private:
  std::set<std::pair<std::string, std::string>> names_;
};

// One graph, without those that stand in it.
class CommonForm {
 public:
  CommonForm(ModuleGraph& graph, Semantics& semantics, const TiedNames& names)
      : graph_(graph), semantics_(semantics), names_(names) {
    for (const auto& [name, constant] : graph.constants) constants_.emplace(name, &constant);
  }

  void run() {
    for (const NodeId id : graph_.graph.order()) {
      numbers_.apply(graph_, id);
      const Node& node = graph_.graph.node(id);
      if (auto number = number_of(node)) {
        numbers_.add(id, std::move(*number));
      } else if (const auto same = same_as(node)) {
        replace_node(graph_, id, *same);
      } else if (node.op == Opcode::kCallModule) {
        drop_own_parameters(node);
      } else {
        write_as_others(node);
      }
    }
    numbers_.apply_to_signature(graph_);
  }

 private:
  // Of a constant that torch.jit.trace made of a number, and of what is computed from numbers; the device of
  // a tensor.
  std::optional<Argument> number_of(const Node& node) {
    if (node.op == Opcode::kGetAttr) return constant_number(node);
    if (node.op != Opcode::kCallFunction || node.model_function || node.args.empty()) return std::nullopt;
    if (const auto* id = node.args[0].get_if<NodeId>(); id != nullptr && node.target == "builtins.getattr") {
      const Meta& meta = graph_.graph.node(*id).meta;
      const bool is_device = node.args.size() == 2 && node.args[1] == Argument("device") && meta.dtype;
      return is_device ? std::optional<Argument>(Argument::Device{meta.device.value_or("cpu")})
                       : std::nullopt;
    }
    const OperatorInfo* info = semantics_.find_operator(node.target);
    if (info == nullptr || !is_number(node.args[0])) return std::nullopt;
    if (identity_rule(*info->op).when == When::kSameType) return converted(node, *info);
    if (!std::ranges::all_of(node.args, is_number)) return std::nullopt;
    const bool gives_first = known_number_of(node.target) == KnownNumber::kOfNumber ||
                             identity_rule(*info->op).when == When::kAlways || gives_tensor_of_code(node);
    if (gives_first) return node.args.front();
    if (!node.kwargs.empty()) return std::nullopt;
    const TargetParts parts = target_parts(node);
    return fold(facts_of("aten::" + std::string(parts.name)).on_values, node.args);
  }

  // A number that torch.jit.trace gives its dtype by `to`, as it is in the tensor that torch.export has.
  static std::optional<Argument> converted(const Node& node, const OperatorInfo& info) {
    const Argument* given = find_argument(node, info.schema, "dtype");
    const auto* dtype = given == nullptr ? nullptr : given->get_if<Argument::Dtype>();
    const auto* integer = node.args[0].get_if<std::int64_t>();
    const auto* real = node.args[0].get_if<double>();
    if (dtype == nullptr || (integer == nullptr && real == nullptr)) return std::nullopt;
    const double number = integer != nullptr ? static_cast<double>(*integer) : *real;
    if (integer != nullptr && dtype->name == "int64") return *integer;
    if (dtype->name == "float64") return number;
    if (dtype->name == "float32") return static_cast<double>(static_cast<float>(number));
    return std::nullopt;
  }

  std::optional<Argument> constant_number(const Node& node) const {
    const auto found = constants_.find(*node.target);
    if (found == constants_.end() || !found->second->shape.empty()) return std::nullopt;
    const auto& data = found->second->data;
    return data && data->size() == 1 ? std::optional(data->front()) : std::nullopt;
  }

  std::optional<NodeId> same_as(const Node& node) {
    if (node.op != Opcode::kCallFunction || node.args.empty() || !node.args.front().is<NodeId>())
      return std::nullopt;
    const NodeId first = *node.args.front().get_if<NodeId>();
    if (node.target == "operator.getitem") {
      const bool is_result = graph_.graph.node(first).op == Opcode::kCallModule && node.args.size() == 2 &&
                             node.args[1] == Argument(std::int64_t{0});
      return is_result ? std::optional(first) : std::nullopt;
    }
    if (node.args.size() == 1 && (node.target == "aten.contiguous.default" || gives_tensor_of_code(node)))
      return first;
    const OperatorInfo* info = node.model_function ? nullptr : semantics_.find_operator(node.target);
    if (info == nullptr || !gives_input(graph_.graph, node, *info)) return std::nullopt;
    const IdentityRule rule = identity_rule(*info->op);
    if (rule.copies || rule.gives >= node.args.size()) return std::nullopt;
    const auto* input = node.args[rule.gives].get_if<NodeId>();
    return input == nullptr ? std::nullopt : std::optional(*input);
  }

  // torch.jit.trace gives a module a tied parameter that was used before under another name.
  void drop_own_parameters(const Node& node) {
    std::vector<Argument> args = node.args;
    std::erase_if(args, [&](const Argument& argument) {
      const auto* id = argument.get_if<NodeId>();
      if (id == nullptr || graph_.graph.node(*id).op != Opcode::kGetAttr) return false;
      return names_.is_in(semantics_.first_name(graph_.graph.node(*id).target), node.target);
    });
    if (args.size() != node.args.size()) graph_.graph.set_args(node.id, std::move(args), Kwargs(node.kwargs));
  }

  // Of a list that an operator makes, where it is known.
  std::optional<std::int64_t> item_count(const Node& list) {
    const auto [entry, is_new] = item_counts_.try_emplace(list.id.index);
    if (!is_new) return entry->second;
    const bool is_call = list.op == Opcode::kCallFunction && !list.model_function;
    const OperatorInfo* info = is_call ? semantics_.find_operator(list.target) : nullptr;
    if (info == nullptr) return std::nullopt;
    std::deque<AbstractValue> values;
    const auto value_of = [&](NodeId id) -> const AbstractValue& {
      return values.emplace_back(known_value(*graph_.graph.node(id).meta));
    };
    const CostedOperator& op = costed_operator(*info->op);
    const KnownArguments<Node, NodeId, decltype(value_of)> args(op, list, value_of);
    ShapeEnv dimensions;
    const Results results = infer_shapes(RuleArguments(op.called, args, dimensions)).results;
    if (results.size() == 1 && results[0].sequence() != nullptr)
      entry->second = static_cast<std::int64_t>(results[0].sequence()->size());
    return entry->second;
  }

  // Dimensions and items counted from the front, and all of a dimension as a slice has it.
  void write_as_others(const Node& node) {
    if (node.op != Opcode::kCallFunction || node.model_function || node.args.empty()) return;
    const auto* input = node.args.front().get_if<NodeId>();
    if (input != nullptr && node.target == "operator.getitem" && node.args.size() == 2) {
      const auto* index = node.args[1].get_if<std::int64_t>();
      const auto count =
          index != nullptr && *index < 0 ? item_count(graph_.graph.node(*input)) : std::nullopt;
      if (count && *index >= -*count)
        graph_.graph.set_args(node.id, {*input, *index + *count}, Kwargs(node.kwargs));
      return;
    }
    const OperatorInfo* info = semantics_.find_operator(node.target);
    if (input == nullptr || info == nullptr) return;
    const auto& before = graph_.graph.node(*input).meta->shape;
    const auto& after = node.meta->shape;
    const std::size_t dimensions = before && after ? std::max(before->size(), after->size()) : 0;
    const auto rank = static_cast<std::int64_t>(dimensions);
    std::vector<Argument> args = node.args;
    for (std::size_t i = 1; i < std::min(args.size(), info->schema.arguments.size()); ++i) {
      const auto* number = args[i].get_if<std::int64_t>();
      const SchemaArgument& known = info->schema.arguments[i];
      if (number == nullptr) continue;
      const bool is_end = known.type.is_optional() && ((known.name == "start" && *number == 0) ||
                                                       (known.name == "end" && *number == INT64_MAX));
      if (is_end) {
        args[i] = Argument::None{};
      } else if (is_dimension(known.name) && *number < 0 && *number >= -rank) {
        args[i] = *number + rank;
      }
    }
    if (args != node.args) graph_.graph.set_args(node.id, std::move(args), Kwargs(node.kwargs));
  }

  ModuleGraph& graph_;
  Semantics& semantics_;
  const TiedNames& names_;
  std::unordered_map<std::uint32_t, std::optional<std::int64_t>> item_counts_;  // by node
  std::unordered_map<std::string_view, const Constant*> constants_;
  Replacements numbers_;
};

}  // namespace

bool are_of_two_kinds(const GraphCollection& a, const GraphCollection& b) {
  return a.model.is_torchscript() != b.model.is_torchscript();
}

std::vector<ModuleGraph> common_form(const GraphCollection& collection) {
  PassContext context(collection);
  const TiedNames names(collection);
  std::vector<ModuleGraph> graphs = collection.graphs;
  for (ModuleGraph& graph : graphs) {
    fold_constants(graph, context);
    context.for_each_graph(graph,
                           [&](ModuleGraph& each) { CommonForm(each, context.semantics, names).run(); });
    fold_constants(graph, context);  // of the numbers that tensors were
    eliminate_dead_code(graph, context);
  }
  return graphs;
}

}  // namespace fxtrace
