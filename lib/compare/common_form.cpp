#include "compare/common_form.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "families/identities.h"
#include "passes/all_passes.h"
#include "passes/support/identity_call.h"
#include "passes/support/rewrite.h"

namespace fxtrace {
namespace {

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
      if (auto number = number_of(node)) numbers_.add(id, std::move(*number));
      if (const auto same = same_as(node)) {
        replace_node(graph_, id, *same);
      } else {
        count_from_front(node);
      }
    }
    numbers_.apply_to_signature(graph_);
  }

 private:
  // Of a constant that torch.jit.trace made of a number.
  std::optional<Argument> number_of(const Node& node) const {
    if (node.op != Opcode::kGetAttr) return std::nullopt;
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

  // The dimensions that a call names.
  void count_from_front(const Node& node) {
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
      const auto* dim = args[i].get_if<std::int64_t>();
      const bool is_dim = info->schema.arguments[i].name.starts_with("dim");
      if (is_dim && dim != nullptr && *dim < 0 && *dim >= -rank) args[i] = *dim + rank;
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
  return (a.model.kind == "torchscript") != (b.model.kind == "torchscript");
}

std::vector<ModuleGraph> common_form(const GraphCollection& collection) {
  PassContext context(collection);
  std::vector<ModuleGraph> graphs = collection.graphs;
  for (ModuleGraph& graph : graphs) {
    fold_constants(graph, context);
    context.for_each_graph(graph, [&](ModuleGraph& each) { CommonForm(each, context.semantics).run(); });
    eliminate_dead_code(graph, context);
  }
  return graphs;
}

}  // namespace fxtrace
