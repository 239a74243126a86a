#include "compare/common_form.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "families/family.h"
#include "families/identities.h"
#include "graph/fold_numbers.h"
#include "operators/known_numbers.h"
#include "passes/all_passes.h"
#include "passes/support/identity_call.h"
#include "passes/support/rewrite.h"

namespace fxtrace {
namespace {

bool is_number(const Argument& argument) {
  return argument.is<bool>() || argument.is<std::int64_t>() || argument.is<double>();
}

// One graph, without those that stand in it.
class CommonForm {
 public:
  CommonForm(ModuleGraph& graph, Semantics& semantics) : graph_(graph), semantics_(semantics) {
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
      } else {
        write_as_others(node);
      }
    }
    numbers_.apply_to_signature(graph_);
  }

 private:
  // Of a constant that torch.jit.trace made of a number, and of what is computed from numbers.
  std::optional<Argument> number_of(const Node& node) {
    if (node.op == Opcode::kGetAttr) return constant_number(node);
    if (node.op != Opcode::kCallFunction || node.model_function || node.args.empty()) return std::nullopt;
    if (!std::ranges::all_of(node.args, is_number)) return std::nullopt;
    const OperatorInfo* info = semantics_.find_operator(node.target);
    if (info == nullptr) return std::nullopt;
    const bool gives_first = known_number_of(node.target) == KnownNumber::kOfNumber ||
                             identity_rule(*info->op).when == When::kAlways;
    if (gives_first) return node.args.front();
    if (!node.kwargs.empty()) return std::nullopt;
    const TargetParts parts = target_parts(node);
    return fold(facts_of("aten::" + std::string(parts.name)).on_values, node.args);
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
    if (node.target == "aten.contiguous.default" && node.args.size() == 1) return first;
    const OperatorInfo* info = node.model_function ? nullptr : semantics_.find_operator(node.target);
    if (info == nullptr || !gives_input(graph_.graph, node, *info)) return std::nullopt;
    const IdentityRule rule = identity_rule(*info->op);
    if (rule.copies || rule.gives >= node.args.size()) return std::nullopt;
    const auto* input = node.args[rule.gives].get_if<NodeId>();
    return input == nullptr ? std::nullopt : std::optional(*input);
  }

  // Dimensions counted from the front, and all of one as a slice has it.
  void write_as_others(const Node& node) {
    if (node.op != Opcode::kCallFunction || node.model_function || node.args.empty()) return;
    const auto* input = node.args.front().get_if<NodeId>();
    const OperatorInfo* info = semantics_.find_operator(node.target);
    if (input == nullptr || info == nullptr) return;
    const auto& before = graph_.graph.node(*input).meta->shape;
    const auto& after = node.meta->shape;
    if (!before || !after) return;
    const auto rank = static_cast<std::int64_t>(std::max(before->size(), after->size()));
    std::vector<Argument> args = node.args;
    for (std::size_t i = 1; i < std::min(args.size(), info->schema.arguments.size()); ++i) {
      const auto* number = args[i].get_if<std::int64_t>();
      const SchemaArgument& known = info->schema.arguments[i];
      if (number == nullptr) continue;
      const bool is_end = known.type.is_optional() && ((known.name == "start" && *number == 0) ||
                                                       (known.name == "end" && *number == INT64_MAX));
      if (is_end) {
        args[i] = Argument::None{};
      } else if (known.name.starts_with("dim") && *number < 0 && *number >= -rank) {
        args[i] = *number + rank;
      }
    }
    if (args != node.args) graph_.graph.set_args(node.id, std::move(args), Kwargs(node.kwargs));
  }

  ModuleGraph& graph_;
  Semantics& semantics_;
  std::unordered_map<std::string_view, const Constant*> constants_;
  Replacements numbers_;
};

}  // namespace

bool are_of_two_kinds(const GraphCollection& a, const GraphCollection& b) {
  return a.model.is_torchscript() != b.model.is_torchscript();
}

std::vector<ModuleGraph> common_form(const GraphCollection& collection) {
  PassContext context(collection);
  std::vector<ModuleGraph> graphs = collection.graphs;
  for (ModuleGraph& graph : graphs) {
    fold_constants(graph, context);
    context.for_each_graph(graph, [&](ModuleGraph& each) { CommonForm(each, context.semantics).run(); });
    fold_constants(graph, context);  // of the numbers that tensors were
    eliminate_dead_code(graph, context);
  }
  return graphs;
}

}  // namespace fxtrace
