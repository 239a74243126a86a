// The pass eliminate-dead-code: one walk from the end of a graph, its subgraphs included.
#include "passes/pass.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "analysis/effects.h"
#include "analysis/node_arguments.h"
#include "graph/rewrite.h"
#include "graph/subgraph_call.h"

namespace fxtrace::internal {
namespace {

// What the guards of a graph say, whichever way they are written: `2 <= u0 <= 64` says `u0 >= 2`.
class GuardedConditions {
 public:
  explicit GuardedConditions(const std::vector<Guard>& guards) {
    for (const Guard& guard : guards) add(guard.expr);
  }

  bool contain(const Expression& condition) const {
    if (condition.kind() == Expression::Kind::kAnd)
      return std::ranges::all_of(condition.parts(), [&](const Expression& part) { return contain(part); });
    return texts_.contains(normal(condition).text());
  }

 private:
  void add(const Expression& condition) {
    if (condition.kind() == Expression::Kind::kAnd) {
      for (const Expression& part : condition.parts()) add(part);
      return;
    }
    texts_.insert(normal(condition).text());
    if (condition.relation() != Relation::kEqual) return;
    const Expression &left = condition.parts()[0], &right = condition.parts()[1];
    texts_.insert(Expression::comparison(Relation::kLessEqual, left, right).text());
    texts_.insert(Expression::comparison(Relation::kLessEqual, right, left).text());
  }

  // Turns > and >= between sizes around.
  static Expression normal(const Expression& condition) {
    const std::optional<Relation> relation = condition.relation();
    if (relation != Relation::kGreater && relation != Relation::kGreaterEqual) return condition;
    return Expression::comparison(relation == Relation::kGreater ? Relation::kLess : Relation::kLessEqual,
                                  condition.parts()[1], condition.parts()[0]);
  }

  std::unordered_set<std::string> texts_;
};

class DeadCode {
 public:
  DeadCode(ModuleGraph& graph, PassContext& context)
      : graph_(graph),
        context_(context),
        index_(graph),
        switches_(graph, context.semantics),
        guarded_(graph.guards) {}

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
    if (meta.kind() == ValueKind::kBool) return guarded_.contain(*meta.value);
    return is_bounded(node, *info, *meta.value);
  }

  // Returns whether the guards contain the bounds of sym_constrain_range(size, min, max).
  bool is_bounded(const Node& node, const OperatorEntry& info, const Expression& size) const {
    const auto holds = [&](std::string_view name, Relation relation) {
      const Argument* bound = NodeArguments(node, info).find_argument(name);
      if (bound == nullptr || bound->is<Argument::None>()) return true;
      const auto* number = bound->get_if<std::int64_t>();
      return number != nullptr &&
             guarded_.contain(Expression::comparison(relation, size, Expression(*number)));
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
  const GuardedConditions guarded_;
};

}  // namespace

void eliminate_dead_code(ModuleGraph& graph, PassContext& context) { DeadCode(graph, context).run(); }

}  // namespace fxtrace::internal
