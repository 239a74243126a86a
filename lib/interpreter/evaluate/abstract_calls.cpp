#include "interpreter/evaluate/abstract_calls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "interpreter/state/value_form.h"
#include "support/error.h"
#include "support/scope_guard.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {
namespace {

// Returns whether a value of the type, or an item of a tuple of the type, may be None.
bool may_be_none(const Type& type) {
  if (const auto* tuple = type.as<TupleType>()) {
    return std::ranges::any_of(tuple->items(), [](const auto& part) { return may_be_none(*part); });
  }
  return type.kind() == TypeKind::kOptional;
}

// Returns which parts of the value are None, and nothing else of what is known.
AbstractValue only_none(const AbstractValue& known, const Type& type) {
  if (known.is_none()) return known;
  const auto* tuple = type.as<TupleType>();
  const auto* items = known.sequence();
  if (tuple == nullptr || items == nullptr || items->size() != tuple->items().size()) return {};
  AbstractValue::Sequence parts;
  for (std::size_t i = 0; i < items->size(); ++i) parts.push_back(only_none((*items)[i], *tuple->items()[i]));
  return {std::move(parts)};
}

}  // namespace

AbstractCalls::Outcome AbstractCalls::result_of(Function& function, const Values& arguments,
                                                const std::string& name) {
  const auto& results = function.schema().results;
  if (results.empty() || (!run_.shapes && !may_be_none(*results[0]))) return {};
  if (!run_.shapes) {
    // A call that gives None for its plain arguments needs no shapes to be known for it.
    const auto result = run(function, arguments);
    return {result ? only_none(result->known, *results[0]) : AbstractValue{}, std::nullopt};
  }
  CostLog costs(state_.dimensions);
  auto result = run(function, arguments, &costs);
  if (!result) {
    note_unknown_writes(arguments);
    Cost unknown;
    unknown.unknown[name] = 1;
    return {{}, std::move(unknown)};
  }
  costs.keep_alive(result->known);
  return {std::move(result->known), costs.cost(), std::move(result->value)};
}

// Inner proxies have no nodes, so nothing but what is known of them may leave such a run.
std::optional<AbstractCalls::Followed> AbstractCalls::run(Function& function, const Values& arguments,
                                                          CostLog* costs) {
  const Recorder::Mode mode = std::exchange(recorder_.mode, Recorder::Mode::kLeaf);
  CostLog* const outer_costs = std::exchange(state_.costs, costs);
  Checkpoint before = recorder_.checkpoint();
  const Restore restore([&] {
    recorder_.back_to(std::move(before));
    recorder_.mode = mode;
    state_.costs = outer_costs;
  });
  state_.steps = 0;
  try {
    Value result = follow(function, arguments, nullptr);
    AbstractValue known = known_of_value(result);  // before the changes are undone
    return Followed{std::move(result), std::move(known)};
  } catch (const TraceFailure&) {
    return std::nullopt;  // a leaf may do anything: its result is not known
  } catch (const std::exception& e) {
    rethrow_what_is_not_the_models(e);
    return std::nullopt;  // the code does not fit its values: likewise
  }
}

const IrNode* AbstractCalls::run_from(const IrBlock& block, const IrNode* node) {
  // Branches that are both run multiply: shapes of leaves beyond this limit are unknown.
  constexpr std::int64_t kMaxNodes = 2'000'000;
  if (++nodes_run_ > kMaxNodes)
    frames_.fail(FailureKind::kLimit, "shapes of leaves take too many steps", node);
  return Evaluator::run_from(block, node);
}

void AbstractCalls::note_unknown_writes(const Values& arguments) {
  state_.gradient_writes.any = state_.gradient_writes.may_gain = true;
  for (const Value& argument : arguments) propagation_.constants.note_write(argument);
}

// A call that cannot be followed returns an unknown value, as a leaf does.
Value AbstractCalls::call_module(const MethodCall& call) {
  Checkpoint before = recorder_.checkpoint();
  const CostLog::Mark cost_before = state_.costs != nullptr ? state_.costs->mark() : CostLog::Mark{};
  try {
    Value result = Evaluator::call_module(call);
    recorder_.keep(before);
    return result;
  } catch (const TraceFailure&) {
    recorder_.back_to(std::move(before));
    note_unknown_writes(call.arguments);
    if (state_.costs != nullptr) {
      state_.costs->undo_to(cost_before);
      state_.costs->add_unknown(run_.type_of(call.module));
    }
    return Recorder::result({}, call.node->output()->type());
  }
}

// An attribute that the code sets may have another value than in the file.
Value AbstractCalls::attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node) {
  const bool may_change = run_.program.find_module(place.object.get()) && !place.current.is_object() &&
                          run_.program.is_set_by_code(class_of(*place.object), place.name);
  if (may_change && !state_.assigned.has(*place.object, place.slot))
    return proxy_of(place, type, {}, nullptr);
  Value value = Evaluator::attribute(place, type, node);
  if (may_change && find_proxy(value) == nullptr) state_.assigned.note_read({place.object.get(), place.slot});
  return value;
}

void AbstractCalls::set_attribute(const AttributePlace& place, const Value& value, const IrNode* node) {
  if (run_.program.holds(place.object.get()) &&
      (state_.assigned.has(*place.object, place.slot) || !is_same(place.current, value))) {
    state_.assigned.add({place.object, place.slot});
  }
  Evaluator::set_attribute(place, value, node);
}

void AbstractCalls::materialize(const Value&, const IrNode* node) {
  frames_.refuse("a list that depends on an input", node);
}

void AbstractCalls::branch(const IrNode* node, const Value& condition) {
  if (!run_both(node)) Evaluator::branch(node, condition);
}

// Runs both branches of an `if`, and sets its outputs to the joins of their results.  Returns false when a
// branch changes anything else.
bool AbstractCalls::run_both(const IrNode* node) {
  const Restore restore(
      [this, outer = std::exchange(recorder_.mode, Recorder::Mode::kBothWays)] { recorder_.mode = outer; });
  std::array<Values, 2> results;
  std::array<bool, 2> raises{};
  std::array<CostLog::Mark, 2> costs;
  for (std::size_t branch = 0; branch < results.size(); ++branch) {
    const IrBlock& block = *node->blocks()[branch];
    const Checkpoint before = recorder_.checkpoint();
    if (state_.costs != nullptr) costs[branch] = state_.costs->mark();
    try {
      run_block(block);
    } catch (const TraceFailure& thrown) {
      // Code after the `if` only runs if the other branch was taken.
      if (thrown.failure.kind != FailureKind::kRaised || raises[0]) throw;
      raises[branch] = true;
      recorder_.back_to(before);
      if (state_.costs != nullptr) state_.costs->undo_to(costs[branch]);
      continue;
    }
    recorder_.keep(before);
    if (state_.changes.mark() != before.changes) return false;
    results[branch] = frames_.outputs(block);
  }
  if (raises[0] || raises[1]) {
    Values& left = results[raises[0] ? 1 : 0];
    for (std::size_t i = 0; i < left.size(); ++i) frames_.set(node->outputs()[i], std::move(left[i]));
    return true;
  }
  if (state_.costs != nullptr) state_.costs->choose(costs[0], costs[1]);
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

void ObjectStates::StateEvaluator::call_operator(const IrNode* node, const FunctionSchema& schema,
                                                 const Values& values) {
  Evaluator::call_operator(node, schema, values);
  if (node->outputs().size() == 1 && is_script_object(*node->output()->type()))
    made.add(frames_.value(node->output()), values);
}

void ObjectStates::set(const Ref<ObjectValue>& object, const Value& state) {
  Function* function = class_of(*object).find_method("__setstate__");
  if (function == nullptr || !function->has_code()) return;
  try {
    evaluator_.follow(*function, {Value(object), state}, nullptr);
  } catch (const TraceFailure&) {
    // The remaining attributes stay without values: only a real run of the code would give them.
  } catch (const std::exception& e) {
    rethrow_what_is_not_the_models(e);
    // Likewise: the state does not fit the code.
  }
  state_.changes.commit();
}

}  // namespace fxtrace::internal::interpreter
