// The pass fold-constants: one walk in order, in which the values found so far are substituted in each node
// before it is folded itself; a branch that is inlined is walked likewise.
#include "passes/pass.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/alias_regions.h"
#include "analysis/taken_branch.h"
#include "graph/analysis/fold_numbers.h"
#include "graph/rewrite.h"
#include "operators/target.h"
#include "opinfo/python_spelling.h"
#include "support/integers.h"

namespace fxtrace::internal {
namespace {

class Fold {
 public:
  Fold(ModuleGraph& graph, PassContext& context)
      : graph_(graph), context_(context), branches_(graph, context.semantics) {}

  void run() {
    for (const NodeId id : graph_.graph.order()) visit(id);
    values_.apply_to_ends(graph_);
    erase_nodes(graph_, folded_);
    context_.semantics.forget_subgraphs();
  }

 private:
  void visit(NodeId id) {
    values_.apply(graph_, id);
    const Node& node = graph_.graph.node(id);
    if (const auto condition = known_condition(graph_.graph, node)) return take_branch(id, *condition);
    if (node.op != Opcode::kCallFunction) return;
    auto value = value_of(node);
    if (!value || !context_.semantics.effects(graph_, node).is_pure()) return;
    if (const auto* other = value->get_if<NodeId>(); other != nullptr && *other == id) return;
    fold(id, std::move(*value));
  }
  void fold(NodeId id, Argument value) {
    values_.add(id, std::move(value));
    folded_.push_back(id);
  }

  void take_branch(NodeId call, bool condition) {
    const Node& node = graph_.graph.node(call);
    std::string obstacle = branches_.obstacle(node, condition);
    if (!obstacle.empty()) return context_.decline(graph_, node, std::move(obstacle));
    const TakenBranches::Inlined inlined = branches_.put_before(call, condition);
    for (const NodeId id : inlined.nodes) visit(id);
    fold(call, values_.applied(inlined.result));
  }

  std::optional<Argument> value_of(const Node& node) {
    if (auto known = known_number(node)) return known;
    if (!node.kwargs.empty()) return std::nullopt;
    if (auto told = value_told(node, known_number_of(node.target))) return told;
    return internal::fold(python_function(*node.target), node.args);
  }

  // Returns the number or truth value that the metadata of the node gives.
  static std::optional<Argument> known_number(const Node& node) {
    if (!node.meta->value) return std::nullopt;
    const ValueKind kind = node.meta->kind();
    if (const auto number = node.meta->value->number(); number && kind == ValueKind::kInt) return *number;
    if (kind != ValueKind::kBool || node.meta->value->kind() != Expression::Kind::kConstant)
      return std::nullopt;
    if (*node.meta->value == Expression::boolean(true)) return true;
    if (*node.meta->value == Expression::boolean(false)) return false;
    return std::nullopt;
  }

  std::optional<Argument> value_told(const Node& node, KnownNumber what) {
    switch (what) {
      case KnownNumber::kNone:
      case KnownNumber::kOfNumber:
        return std::nullopt;
      case KnownNumber::kInt:
        return same_number(node, ValueKind::kInt);
      case KnownNumber::kFloat:
        return same_number(node, ValueKind::kFloat);
      case KnownNumber::kBool:
        return same_number(node, ValueKind::kBool);
      case KnownNumber::kItem:
        return item(node);
      case KnownNumber::kRank:
      case KnownNumber::kLength:
      case KnownNumber::kSize:
      case KnownNumber::kCount:
        return size_of(node, what);
    }
    return std::nullopt;
  }

  // Folds int(n) of an integer, and of a tensor that torch.jit.trace made of an integer; likewise for others.
  std::optional<Argument> same_number(const Node& node, ValueKind kind) {
    if (node.args.size() != 1) return std::nullopt;
    Argument value = node.args.front();
    if (const auto* id = value.get_if<NodeId>()) {
      const Node& tensor = graph_.graph.node(*id);
      const bool is_made =
          known_number_of(tensor.target) == KnownNumber::kOfNumber && tensor.args.size() == 1;
      if (is_made && (!memory().knows(*id) || memory().is_written(*id))) return std::nullopt;
      if (is_made) value = tensor.args.front();
    }
    return kind_of(value) == kind ? std::optional(std::move(value)) : std::nullopt;
  }

  ValueKind kind_of(const Argument& value) const {
    if (const auto* id = value.get_if<NodeId>()) return graph_.graph.node(*id).meta->kind();
    if (value.is<bool>()) return ValueKind::kBool;
    if (value.is<std::int64_t>()) return ValueKind::kInt;
    return value.is<double>() ? ValueKind::kFloat : ValueKind::kOther;
  }

  // Folds [a, b][1].
  static std::optional<Argument> item(const Node& node) {
    if (node.args.size() != 2) return std::nullopt;
    const auto* index = node.args[1].get_if<std::int64_t>();
    const auto* items = items_of(node.args[0]);
    if (index == nullptr || items == nullptr) return std::nullopt;
    const auto place = find_position(std::ssize(*items), *index);
    return place ? std::optional((*items)[*place]) : std::nullopt;
  }

  std::optional<Argument> size_of(const Node& node, KnownNumber what) {
    const auto* id = node.args.empty() ? nullptr : node.args.front().get_if<NodeId>();
    if (id == nullptr || node.args.size() != (what == KnownNumber::kSize ? 2U : 1U)) return std::nullopt;
    const Meta& meta = graph_.graph.node(*id).meta;
    if (meta.kind() != ValueKind::kTensor || !meta.shape) return std::nullopt;
    if (!memory().knows(*id) || memory().changes_shape(*id)) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(meta.shape->size());
    if (what == KnownNumber::kRank) return rank;
    std::optional<std::int64_t> size;
    if (what == KnownNumber::kCount) {
      std::int64_t count = 1;
      for (const Meta::Dim& dim : *meta.shape) {
        if (!dim.number() || __builtin_mul_overflow(count, *dim.number(), &count)) return std::nullopt;
      }
      size = count;
    } else {
      const auto* given = what == KnownNumber::kSize ? node.args[1].get_if<std::int64_t>() : nullptr;
      if (what == KnownNumber::kSize && given == nullptr) return std::nullopt;
      const auto place = find_position(rank, given == nullptr ? 0 : *given);
      if (!place) return std::nullopt;
      size = (*meta.shape)[*place].number();
    }
    return size ? std::optional<Argument>(*size) : std::nullopt;
  }

  // Returns the alias analysis, made at the first call: most graphs do not need it.  It does not know nodes
  // that were inserted later.
  const AliasRegions& memory() {
    if (!memory_) memory_.emplace(graph_, context_.semantics);
    return *memory_;
  }

  ModuleGraph& graph_;
  PassContext& context_;
  std::optional<AliasRegions> memory_;
  TakenBranches branches_;
  Replacements values_;
  std::vector<NodeId> folded_;
};

}  // namespace

void fold_constants(ModuleGraph& graph, PassContext& context) {
  context.for_each_graph(graph, [&](ModuleGraph& each) { Fold(each, context).run(); });
}

}  // namespace fxtrace::internal
