#include "torchscript/abstract_calls.h"

#include <algorithm>
#include <utility>

#include "support/error.h"
#include "support/restore.h"
#include "torchscript/abstract.h"
#include "torchscript/run.h"

namespace fxtrace::torchscript {
namespace {

// Itself, or in a tuple.
bool may_be_none(const Type& type) {
  if (const auto* tuple = type.as<TupleType>()) {
    return std::ranges::any_of(tuple->items(), [](const auto& part) { return may_be_none(*part); });
  }
  return type.kind() == TypeKind::kOptional;
}

// What of it is None, and nothing else.
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
  const auto& returns = function.schema().returns;
  if (returns.empty() || (!run_.shapes && !may_be_none(*returns[0].type))) return {};
  if (!run_.shapes) {
    // A call that gives None for its plain arguments needs no shapes to be known for it.
    const auto result = run(function, arguments);
    return {result ? only_none(result->known, *returns[0].type) : AbstractValue{}, std::nullopt};
  }
  CostLog costs(run_.dimensions);
  auto result = run(function, arguments, &costs);
  if (!result) {
    note_writes(arguments);
    Cost unknown;
    unknown.unknown[name] = 1;
    return {{}, std::move(unknown)};
  }
  costs.keep(result->known);
  return {std::move(result->known), costs.cost(), std::move(result->value)};
}

// What could not be followed may have written to them.
void AbstractCalls::note_writes(const Values& arguments) {
  run_.gradient_writes.any = run_.gradient_writes.may_gain = true;
  for (const Value& argument : arguments) run_.constants.note_write(argument);
}

// Inner proxies have no nodes, so nothing but what is known of them may leave such a run.
std::optional<AbstractCalls::Followed> AbstractCalls::run(Function& function, const Values& arguments,
                                                          CostLog* costs) {
  const Mode outer = std::exchange(run_.mode, Mode::kAbstract);
  CostLog* const outer_costs = std::exchange(run_.costs, costs);
  Checkpoint before = run_.checkpoint();
  const Restore restore([&] {
    run_.back_to(std::move(before));
    run_.mode = outer;
    run_.costs = outer_costs;
  });
  run_.changes.begin_stretch(before.changes);
  run_.steps = 0;
  try {
    Value result = run_.calls.follow(function, arguments, nullptr);
    AbstractValue known = known_of_value(result);  // before what was done is taken back
    return Followed{std::move(result), std::move(known)};
  } catch (const TraceFailure&) {
    return std::nullopt;  // a leaf may do what cannot be followed: its result is not known
  } catch (const std::exception& e) {
    rethrow_what_is_not_the_models(e);
    return std::nullopt;  // its code does not fit its values: likewise
  }
}

Value AbstractCalls::call_inside(Function& function, const Values& arguments, const IrNode* node) {
  Checkpoint before = run_.checkpoint();
  const CostLog::Mark cost_before = run_.costs != nullptr ? run_.costs->mark() : CostLog::Mark{};
  run_.changes.begin_stretch(before.changes);
  try {
    Value result = run_.calls.follow(function, arguments, node);
    run_.changes.begin_stretch(before.stretch);
    return result;
  } catch (const TraceFailure&) {
    run_.back_to(std::move(before));
    note_writes(arguments);
    if (run_.costs != nullptr) {
      run_.costs->undo_to(cost_before);
      run_.costs->add_unknown(run_.type_of(run_.module));
    }
    const TypePtr& type = node->output()->type();
    return type->kind() == TypeKind::kNone ? Value() : make_proxy(NodeRef{}, type);
  }
}

}  // namespace fxtrace::torchscript
