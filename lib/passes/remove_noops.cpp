// The pass remove-noops: replaces calls that return their input, or a copy that nobody can tell from it.
#include "passes/pass.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/alias_regions.h"
#include "analysis/identity_call.h"
#include "graph/rewrite.h"
#include "operators/names/function_traits.h"
#include "operators/names/modules.h"
#include "opinfo/traits.h"

namespace fxtrace::internal {
namespace {

class RemoveNoops {
 public:
  RemoveNoops(ModuleGraph& graph, PassContext& context)
      : graph_(graph), semantics_(context.semantics), memory_(graph, context.semantics) {}

  void run() {
    for (const NodeId id : graph_.graph.order()) {
      const Node& node = graph_.graph.node(id);
      if (node.args.empty() || !node.args.front().is<NodeId>()) continue;
      const auto identity = node.op == Opcode::kCallModule ? leaf_identity(node) : call_identity(node);
      if (!identity || identity->gives >= node.args.size()) continue;
      const auto* input = node.args[identity->gives].get_if<NodeId>();
      if (input == nullptr || memory_.changes_shape(id) || memory_.changes_shape(*input)) continue;
      if (identity->copies && !is_copy_unseen(id, *input, *identity)) continue;
      keep_what_is_known(node.meta, *input);
      memory_.replace_copy(id, *input);
      replace_node(graph_, id, *input);
    }
  }

 private:
  struct Identity {
    std::size_t gives = 0;  // the index of the argument that is returned
    bool copies = false, writes = false;
  };

  // Returns nothing when the node may have an effect.
  std::optional<Identity> call_identity(const Node& node) {
    if (node.op != Opcode::kCallFunction) return std::nullopt;
    const OperatorEntry* info = semantics_.find_operator(node.target);
    if (info == nullptr) {
      const bool gives = (find_python_function(node.target).traits & function_traits::kIdentity) != 0;
      return gives && semantics_.effects(graph_, node).is_pure() ? std::optional(Identity{}) : std::nullopt;
    }
    const IdentityRule rule = info->identity;
    if (!gives_input(graph_.graph, node, *info)) return std::nullopt;
    return Identity{rule.gives, rule.copies, rule.writes};
  }
  std::optional<Identity> leaf_identity(const Node& node) {
    const ModuleTraits all = traits_of_module(node.scope->module_type.value_or(""));
    const bool gives = (all & module_traits::kIdentity) != 0;
    return gives && semantics_.effects(graph_, node).is_pure() ? std::optional(Identity{}) : std::nullopt;
  }

  // Returns whether no node writes to the copy or the original while both are in use, and none observes their
  // layouts.
  bool is_copy_unseen(NodeId copy, NodeId original, const Identity& identity) {
    if (memory_.same_region(copy, original) || memory_.is_written_after(original, copy)) return false;
    if (identity.writes ? !is_only_for_copy(graph_.graph.node(copy)) : memory_.is_written(copy)) return false;
    const bool may_both_go_out =
        memory_.is_given_back(copy) && (memory_.is_from_outside(original) || memory_.is_given_back(original));
    if (may_both_go_out) return false;
    const bool has_same_layout = identity.gives == 0 && is_dense(graph_, semantics_, original);
    return has_same_layout || !layout_may_show(graph_, semantics_, copy);
  }

  // Returns whether the target of copy_ is made in the graph, and its other users run before the copy_ and
  // keep no alias of it.
  bool is_only_for_copy(const Node& copy) {
    const NodeId target = std::get<NodeId>(copy.args.front().value);
    if (memory_.is_from_outside(target) || !is_dense(graph_, semantics_, target)) return false;
    if (memory_.is_written_after(target, graph_.graph.next(copy.id))) return false;
    return std::ranges::all_of(graph_.graph.node(target).users, [&](NodeId user) {
      if (user == copy.id) return true;
      if (memory_.position(user) > memory_.position(copy.id)) return false;
      const Node& node = graph_.graph.node(user);
      const Effects effects = semantics_.effects(graph_, node);
      return !effects.is_unknown && !effects.joins_inputs && (effects.shared.empty() || node.users.empty());
    });
  }

  void keep_what_is_known(const Meta& known, NodeId input) {
    Meta meta = graph_.graph.node(input).meta;
    if (!meta.shape) meta.shape = known.shape;
    if (!meta.has_dtype()) meta.copy_dtype(known);
    if (!meta.device) meta.device = known.device;
    if (meta != *graph_.graph.node(input).meta) graph_.graph.meta(input) = std::move(meta);
  }

  ModuleGraph& graph_;
  Semantics& semantics_;
  AliasRegions memory_;
};

}  // namespace

void remove_noops(ModuleGraph& graph, PassContext& context) {
  context.for_each_graph(graph, [&](ModuleGraph& each) { RemoveNoops(each, context).run(); });
}

}  // namespace fxtrace::internal
