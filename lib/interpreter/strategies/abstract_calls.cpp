#include "interpreter/strategies/abstract_calls.h"

#include <algorithm>
#include <utility>

#include "interpreter/state/abstract.h"
#include "support/error.h"
#include "support/restore.h"
#include "trace/tracer/trace_failure.h"

namespace fxtrace::interpreter {
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
  if (results.empty() || (!context_.shapes && !may_be_none(*results[0]))) return {};
  if (!context_.shapes) {
    // A call that gives None for its plain arguments needs no shapes to be known for it.
    const auto result = run(function, arguments);
    return {result ? only_none(result->known, *results[0]) : AbstractValue{}, std::nullopt};
  }
  CostLog costs(context_.dimensions);
  auto result = run(function, arguments, &costs);
  if (!result) {
    strategy_.note_unknown_writes(arguments);
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
  Recorder* const outer = std::exchange(context_.recorder, &strategy_.leaf_recorder());
  Strategy* const outer_strategy = std::exchange(context_.strategy, &strategy_);
  CostLog* const outer_costs = std::exchange(context_.costs, costs);
  Checkpoint before = context_.checkpoint();
  const Restore restore([&] {
    context_.back_to(std::move(before));
    context_.recorder = outer;
    context_.strategy = outer_strategy;
    context_.costs = outer_costs;
  });
  context_.steps = 0;
  try {
    Value result = code_.follow(function, arguments, nullptr);
    AbstractValue known = known_of_value(result);  // before the changes are undone
    return Followed{std::move(result), std::move(known)};
  } catch (const TraceFailure&) {
    return std::nullopt;  // a leaf may do anything: its result is not known
  } catch (const std::exception& e) {
    rethrow_what_is_not_the_models(e);
    return std::nullopt;  // the code does not fit its values: likewise
  }
}

}  // namespace fxtrace::interpreter
