// The pass eliminate-dead-code: one walk from the end of a graph, its subgraphs included.
#include "passes/all_passes.h"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <vector>

#include "passes/analysis/switches.h"
#include "passes/support/rewrite.h"
#include "passes/support/subgraph_call.h"

namespace fxtrace {
namespace {

class DeadCode {
 public:
  DeadCode(ModuleGraph& graph, PassContext& context)
      : graph_(graph), context_(context), index_(graph), switches_(graph, context.semantics) {}

  // Visits nodes from the end, so that a node that only dead nodes use has no users when its turn comes.
  void run() {
    const std::vector<NodeId> order = graph_.graph.order();
    for (const NodeId id : order | std::views::reverse) {
      if (!graph_.graph.contains(id)) continue;
      if (is_dead(graph_.graph.node(id))) {
        erase_node(graph_, id);  // unused parts go at the end
      } else {
        clean_subgraphs(id);
        for (const NodeId unneeded : switches_.add(graph_.graph.node(id))) erase_node(graph_, unneeded);
      }
    }
    drop_unused_parts(graph_);
    context_.semantics.forget_subgraphs();
  }

 private:
  bool is_dead(const Node& node) {
    if (node.op == Opcode::kPlaceholder || node.op == Opcode::kOutput || !node.users.empty()) return false;
    if (graph_.graph.is_assigned(node.id)) return false;
    if (node.op == Opcode::kGetAttr) return true;
    if (node.op != Opcode::kCallFunction) return false;
    const Effects effects = context_.semantics.effects(graph_, node);
    return effects.is_pure() || (effects.asserts && stands_in_guards(node));
  }

  bool stands_in_guards(const Node& node) {
    const OperatorEntry* info = context_.semantics.find_operator(node.target);
    if (info == nullptr || node.args.empty()) return false;
    const auto* id = node.args.front().get_if<NodeId>();
    if (id == nullptr) return node.args.front() == Argument(true);
    const Meta& meta = graph_.graph.node(*id).meta;
    if (!meta.value) return false;
    if (meta.kind() == ValueKind::kBool) return is_guard(*meta.value);
    return is_bounded(node, *info, *meta.value);
  }

  bool is_guard(const Expression& condition) const {
    return std::ranges::any_of(graph_.guards, [&](const Guard& guard) { return guard.expr == condition; });
  }

  // Returns whether the guards contain the bounds of sym_constrain_range(size, min, max).
  bool is_bounded(const Node& node, const OperatorEntry& info, const Expression& size) const {
    const auto holds = [&](std::string_view name, Relation relation) {
      const Argument* bound = find_argument(node, info.schema, name);
      if (bound == nullptr || bound->is<Argument::None>()) return true;
      const auto* number = bound->get_if<std::int64_t>();
      return number != nullptr && is_guard(Expression::comparison(relation, size, Expression(*number)));
    };
    return holds("min", Relation::kGreaterEqual) && holds("max", Relation::kLessEqual);
  }

  // --- control flow ---

  void clean_subgraphs(NodeId id) {
    const std::vector<Subgraph*> subgraphs = index_.find_subgraphs(id);
    if (subgraphs.empty()) return;
    const auto call = SubgraphCall::read(index_, id);
    if (call) call->drop_unused_results();
    do {
      for (Subgraph* subgraph : subgraphs) {
        context_.in_subgraph(*subgraph, [&](ModuleGraph& inner) { DeadCode(inner, context_).run(); });
      }
    } while (call && call->drop_unused_carried());
    if (call) call->drop_unused_operands();
  }

  ModuleGraph& graph_;
  PassContext& context_;
  SubgraphIndex index_;
  Switches switches_;
};

}  // namespace

void eliminate_dead_code(ModuleGraph& graph, PassContext& context) { DeadCode(graph, context).run(); }

}  // namespace fxtrace
