#include "interpreter/strategies/abstract_strategy.h"

#include <array>
#include <utility>

#include "interpreter/state/abstract.h"
#include "interpreter/state/structure.h"
#include "support/restore.h"
#include "trace/tracer/trace_failure.h"

namespace fxtrace::interpreter {

const IrNode* AbstractStrategy::run(const IrBlock& block, const IrNode* node) {
  // Branches that are both run multiply: shapes of leaves beyond this limit are unknown.
  constexpr std::int64_t kMaxNodes = 2'000'000;
  if (++nodes_run_ > kMaxNodes)
    frames_.fail(FailureKind::kLimit, "shapes of leaves take too many steps", node);
  return BasicStrategy::run(block, node);
}

void AbstractStrategy::note_unknown_writes(const Values& arguments) {
  context_.gradient_writes.any = context_.gradient_writes.may_gain = true;
  for (const Value& argument : arguments) propagation_.constants.note_write(argument);
}

// A call that cannot be followed returns an unknown value, as a leaf does.
Value AbstractStrategy::call_module(const MethodCall& call) {
  Checkpoint before = context_.checkpoint();
  const CostLog::Mark cost_before = context_.costs != nullptr ? context_.costs->mark() : CostLog::Mark{};
  try {
    Value result = BasicStrategy::call_module(call);
    context_.keep(before);
    return result;
  } catch (const TraceFailure&) {
    context_.back_to(std::move(before));
    note_unknown_writes(call.arguments);
    if (context_.costs != nullptr) {
      context_.costs->undo_to(cost_before);
      context_.costs->add_unknown(context_.type_of(call.module));
    }
    return Recorder::result({}, call.node->output()->type());
  }
}

// An attribute that the code sets may have another value than in the file.
Value AbstractStrategy::attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node) {
  const bool may_change = context_.program.find_module(place.object.get()) && !place.current.is_object() &&
                          context_.program.is_set_by_code(class_of(*place.object), place.name);
  if (may_change && !context_.assigned.has(*place.object, place.slot))
    return proxy_of(place, type, {}, nullptr);
  Value value = BasicStrategy::attribute(place, type, node);
  if (may_change && find_proxy(value) == nullptr)
    context_.assigned.note_read({place.object.get(), place.slot});
  return value;
}

void AbstractStrategy::set_attribute(const AttributePlace& place, const Value& value, const IrNode* node) {
  if (context_.program.holds(place.object.get()) &&
      (context_.assigned.has(*place.object, place.slot) || !is_same(place.current, value))) {
    context_.assigned.add({place.object, place.slot});
  }
  BasicStrategy::set_attribute(place, value, node);
}

void AbstractStrategy::materialize(const Value&, const IrNode* node) {
  frames_.refuse("a list that depends on an input", node);
}

void AbstractStrategy::branch(const IrNode* node, const Value& condition) {
  if (!run_both(node)) BasicStrategy::branch(node, condition);
}

// Runs both branches of an `if`, and sets its outputs to the joins of their results.  Returns false when a
// branch changes anything else.
bool AbstractStrategy::run_both(const IrNode* node) {
  const Restore restore(
      [this, outer = std::exchange(recorder_.runs_both_ways, true)] { recorder_.runs_both_ways = outer; });
  std::array<Values, 2> results;
  std::array<bool, 2> raises{};
  std::array<CostLog::Mark, 2> costs;
  for (std::size_t branch = 0; branch < results.size(); ++branch) {
    const IrBlock& block = *node->blocks()[branch];
    const Checkpoint before = context_.checkpoint();
    if (context_.costs != nullptr) costs[branch] = context_.costs->mark();
    try {
      code_.run_block(block);
    } catch (const TraceFailure& thrown) {
      // Code after the `if` only runs if the other branch was taken.
      if (thrown.failure.kind != FailureKind::kRaised || raises[0]) throw;
      raises[branch] = true;
      context_.back_to(before);
      if (context_.costs != nullptr) context_.costs->undo_to(costs[branch]);
      continue;
    }
    context_.keep(before);
    if (context_.changes.mark() != before.changes) return false;
    results[branch] = frames_.outputs(block);
  }
  if (raises[0] || raises[1]) {
    Values& left = results[raises[0] ? 1 : 0];
    for (std::size_t i = 0; i < left.size(); ++i) frames_.set(node->outputs()[i], std::move(left[i]));
    return true;
  }
  if (context_.costs != nullptr) context_.costs->choose(costs[0], costs[1]);
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    const Value& first = results[0][i];
    const Value& second = results[1][i];
    if (is_plain(first) && is_plain(second) && are_equal(first, second)) {
      frames_.set(node->outputs()[i], first);
      continue;
    }
    Value either = make_proxy(NodeRef{}, node->outputs()[i]->type(), propagation_.either(first, second));
    propagation_.note_choice(either, {first, second});
    frames_.set(node->outputs()[i], std::move(either));
  }
  return true;
}

}  // namespace fxtrace::interpreter
