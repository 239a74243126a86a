#include "interpreter/propagate/shape_propagation.h"

#include <algorithm>

#include "costs/cost_log.h"
#include "interpreter/program/convert.h"
#include "interpreter/propagate/operator_evaluation.h"
#include "interpreter/state/value_form.h"
#include "operators/operators.h"
#include "opinfo/operator_entry.h"
#include "opinfo/python_spelling.h"
#include "opinfo/traits.h"
#include "trace/options/input_spec.h"

namespace fxtrace::internal::interpreter {
namespace {

// The memory of one of many results, in units of the budget: that of a node, as each has a shape of its own.
constexpr std::size_t kUnitsOfPiece = 64;

std::size_t pieces_of(const AbstractValue& result) {
  const auto* pieces = result.sequence();
  return pieces == nullptr ? 0 : pieces->size();
}

// Autocast makes results of other float types than the operators by themselves.
void forget_float_types(AbstractValue& known) {
  if (auto* info = std::get_if<TensorInfo>(&known.value)) {
    if (info->dtype && is_floating(*info->dtype)) info->dtype.reset();
  }
  if (auto* items = std::get_if<AbstractValue::Sequence>(&known.value))
    std::ranges::for_each(*items, forget_float_types);
}

void forget_gradients(AbstractValue& known) {
  if (auto* info = std::get_if<TensorInfo>(&known.value)) info->requires_grad = false;
  if (auto* items = std::get_if<AbstractValue::Sequence>(&known.value))
    std::ranges::for_each(*items, forget_gradients);
}

bool is_tensor(const Type& type) { return type.kind() == TypeKind::kTensor; }

// "aten.conv2d of float32[1,5,8,8], float32[4,3,3,3]"
std::string call_text(const FunctionSchema& schema, const Values& values) {
  std::string tensors;
  const auto add = [&](const TensorInfo& info) {
    tensors += tensors.empty() ? " of " : ", ";
    tensors += info.dtype ? dtype_name(*info.dtype) : "?";
    tensors += '[';
    for (std::size_t i = 0; i < info.sizes.size(); ++i) tensors += (i == 0 ? "" : ",") + info.sizes[i].text();
    tensors += ']';
  };
  for (const Value& value : values) {
    if (is_plain(value)) continue;
    const AbstractValue known = known_of_value(value);
    if (known.tensor() != nullptr) add(*known.tensor());
    if (known.sequence() == nullptr) continue;
    for (const AbstractValue& item : *known.sequence()) {
      if (item.tensor() != nullptr) add(*item.tensor());
    }
  }
  std::string op = schema.name;
  if (const auto colons = op.find("::"); colons != std::string::npos) op.replace(colons, 2, ".");
  return op + tensors;
}

}  // namespace

Traits ShapePropagation::traits_of(const IrNode* node) {
  const torchscript::FunctionSchema* schema = node->operator_schema();
  if (schema == nullptr) return 0;
  const auto [place, is_new] = traits_.emplace(schema, 0);
  if (is_new) place->second = internal::traits_of(find_operator(*schema));
  return place->second;
}

void ShapePropagation::add_custom_cost(const CustomCosts::Rule& rule, const FunctionSchema& schema,
                                       const Values& values, std::vector<AbstractValue>& results) {
  const InterpreterArguments args(values);
  const auto argument = [&](std::size_t place) {
    return place < values.size() ? std::optional(args[place]) : std::nullopt;
  };
  const auto named = [&](const std::string& name) {
    const auto formal = std::ranges::find(schema.arguments, name, &FunctionArgument::name);
    return argument(static_cast<std::size_t>(formal - schema.arguments.begin()));
  };
  std::vector<const AbstractValue*> used;
  for (std::size_t i = 0; i < values.size(); ++i) used.push_back(&args[i]);
  state_.costs->call(CustomCosts::cost(rule, {argument, named, results}), used, results);
}

void ShapePropagation::add_cost(const IrNode* node, const FunctionSchema& schema, const Values& values,
                                std::vector<AbstractValue>& results) {
  const Operator* row = find_operator(schema);
  if (row == nullptr || !run_.custom_costs.empty()) {
    const std::string target = python_target(schema.name, schema.overload_name, own_schema(schema)).name;
    if (const CustomCosts::Rule* rule = run_.custom_costs.find_rule(target))
      return add_custom_cost(*rule, schema, values, results);
    if (row == nullptr) return state_.costs->add_unknown(target);
  }
  // Results without uses are freed at once, and need not be tensors.
  const auto is_taken = [&](std::size_t i) { return results.size() == 1 || node->output(i)->has_uses(); };
  std::vector<AbstractValue> taken;
  for (std::size_t i = 0; i < results.size(); ++i)
    taken.push_back(is_taken(i) ? results[i] : AbstractValue{NoneValue{}});
  state_.costs->call(entry_of(*row), InterpreterArguments(values), taken);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_taken(i)) results[i] = std::move(taken[i]);
  }
}

// Answers x.size() with a list: numbers where they are known, and a node for each other size.
bool ShapePropagation::answer_sizes(const IrNode* node, const Values& values) {
  const auto info = find_tensor_info(values[0]);
  if (!info) return false;
  auto sizes = make_counted<ListValue>(int_type());
  for (std::size_t i = 0; i < info->sizes.size(); ++i) {
    const auto number = info->sizes[i].number();
    sizes->items.push_back(
        number ? Value(*number)
               : recorder.apply("aten.size.int", {values[0], i}, int_type(), node, {info->sizes[i]}));
  }
  recorder.rely_on(node, "aten::size", values, {}, state_.take_ranges());
  frames_.set(node, std::move(sizes));
  return true;
}

bool ShapePropagation::answer(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  if (node->outputs().size() != 1) return false;
  if (run_.shapes && answer_dict(node, schema, values)) return true;
  Values changed;
  const Values& now = with_current_shapes(values, changed) ? changed : values;
  if (schema.name == "prim::requires_grad") check_gradient(node, now[0]);
  if (makes_tensor(schema) || (!run_.shapes && !asks_size_of_constant(node, values))) return false;
  if (schema.name == "aten::size" && values.size() == 1) return answer_sizes(node, now);
  if (schema.name == "prim::requires_grad" && !knows_gradient(now[0])) return false;
  const Evaluated evaluated = evaluate_plain(schema, now, state_.dimensions);
  if (evaluated.plain) {
    const TensorInfo* asked = values.empty() ? nullptr : known_of(values[0]).tensor();
    if (asked != nullptr && asked->contiguity_assumed &&
        (schema.name == "aten::is_contiguous" || schema.name == "aten::stride")) {
      recorder.guard(Expression::method(recorder.condition_of(values[0]), "is_contiguous"),
                     frames_.location(node), GuardReason::kInput);
    }
    recorder.rely_on(node, schema.name, values, *evaluated.plain, state_.take_ranges());
    frames_.set(node, plain_value(*evaluated.plain));
    return true;
  }
  if (!run_.shapes) return false;
  // scale.item()
  const bool has_constant = std::any_of(
      values.begin(), values.end(), [&](const Value& value) { return bool(constants.find_elements(value)); });
  if (!has_constant) return false;
  const auto computed = constants.compute(schema, values);
  const Value answer = computed && computed->size() == 1 ? plain_value(computed->front()) : Value();
  if (answer.is_none()) return false;
  frames_.set(node, answer);
  return true;
}

void ShapePropagation::keep_answer(const IrNode* node, const FunctionSchema& schema, const Values& values,
                                   const NodeRef& recorded) {
  if (run_.shapes || node->outputs().size() != 1) return;
  if (!has_trait(node, traits::kMakesTensor) && !constants.is_any_known(values)) return;
  if (state_.switches.casts()) return;
  auto computed = constants.compute(schema, values);
  if (!computed || computed->size() != 1) return;
  AbstractValue& result = computed->front();
  if (result.tensor() == nullptr && plain_value(result).is_none()) return;
  constants.keep_value(recorded, std::move(result));
  changes_.add([this, recorded] { constants.forget(recorded); });
}

std::optional<Value> ShapePropagation::find_answer(const Value& value) const {
  const AbstractValue* kept = constants.find_kept(value);
  const bool is_number = kept != nullptr && kept->tensor() == nullptr;
  return is_number && recorder.is_unwritten(value) ? std::optional(plain_value(*kept)) : std::nullopt;
}

std::vector<AbstractValue> ShapePropagation::infer_results(const IrNode* node, const FunctionSchema& schema,
                                                           const Values& given) {
  std::vector<AbstractValue> results(node->outputs().size());
  if (!run_.shapes) return results;
  note_gradients(schema, given);
  if (results.empty()) {
    if (!change_list(schema, given, results)) change_arguments(node, schema, given, results);
    return results;
  }
  Values changed;
  const Values& values = with_current_shapes(given, changed) ? changed : given;
  const bool gives_tensor = std::ranges::any_of(schema.results, [](const TypePtr& type) {
    // Packed parameters are objects of a class.
    return may_hold_tensor(*type) || type->kind() == TypeKind::kClass;
  });
  if (!gives_tensor || values.empty() || !find_tensor_info(values[0])) {
    // This also infers elements of lists of tensors.
    results[0] = evaluate_plain(schema, values, state_.dimensions).known;
    if (const auto* parts = results[0].sequence(); parts != nullptr && results.size() > 1)
      results = AbstractValue::Sequence(*parts);
  }
  if (gives_tensor && results[0].is_unknown()) {
    Inferred inferred = infer_shapes(schema, values, state_.dimensions, [this](const TensorValue& tensor) {
      return constants.find_elements(tensor);
    });
    results = std::move(inferred.results);
    results.resize(node->outputs().size());
    if (results.size() == 1 && results[0].is_unknown() && inferred.error.empty())
      results[0] = unpacked(node, schema, values);
    for (const AbstractValue& result : results) run_.budget.spend(kUnitsOfPiece * pieces_of(result));
    if (!state_.switches.grad) drop_gradients(schema, values, results);
    if (state_.switches.casts()) {
      std::ranges::for_each(results, forget_float_types);
    } else {
      if (!inferred.error.empty()) recorder.report_invalid(node, call_text(schema, values), inferred.error);
      constants.add_contents(schema, values, results);
    }
    constants.note_shared(schema, values, results);
  }
  if (state_.costs != nullptr && gives_tensor) {
    state_.note_ranges();
    add_cost(node, schema, values, results);
    state_.dimensions.take_relied();  // costs decide nothing, so they rely on no range
  }
  // An integer that depends on data, int(x.item()), or has no expression, int(math.sqrt(n)), gets a fresh
  // symbol.
  const Proxy* first = values.empty() ? nullptr : find_proxy(values[0]);
  const bool is_rounded = first != nullptr && first->static_type->kind() == TypeKind::kFloat;
  const bool by_data = results.size() == 1 && node->output()->type()->kind() == TypeKind::kInt &&
                       !values.empty() &&
                       (has_trait(node, traits::kReadsData) || find_tensor_info(values[0]) || is_rounded);
  if (by_data && results[0].is_unknown()) {
    results[0].value = state_.dimensions.fresh({std::nullopt, std::nullopt});
  }
  if (!change_list(schema, given, results)) change_arguments(node, schema, given, results);
  return results;
}

// Infers the results of x.unbind(0) and the like from their unpacking: a, b, c = x.unbind(0) either gets
// three or raises.
AbstractValue ShapePropagation::unpacked(const IrNode* node, const FunctionSchema& schema,
                                         const Values& values) {
  const IrNode* unpacks = nullptr;
  for (const IrUse& use : node->output()->uses()) {
    const bool is_there =
        use.user->kind() == Symbol::kPrimListUnpack && use.user->owning_block() == node->owning_block();
    if (is_there) unpacks = use.user;
  }
  if (unpacks == nullptr || recorder.in_body()) return {};
  auto pieces = pieces_of(schema, values, state_.dimensions, std::ssize(unpacks->outputs()));
  if (!pieces) return {};
  const auto& [relation, left, right] = pieces->condition;
  const auto holds = state_.dimensions.decide(relation, left, right);
  const std::vector<std::string> named = named_dimensions(run_.options.inputs);
  const auto is_named = [&](const std::string& name) {
    return std::ranges::find(named, name) != named.end();
  };
  if (!holds && !std::ranges::all_of(left.symbols(), is_named)) return {};  // a guard cannot be over data
  if (holds == false) {
    recorder.report_invalid(node, call_text(schema, values),
                            "it does not give " + std::to_string(unpacks->outputs().size()) + " tensors");
    return {};
  }
  if (!holds) {
    recorder.guard(Expression::comparison(relation, left, right), frames_.location(node),
                   GuardReason::kAssert);
    counted_.insert(node);
  }
  return std::move(pieces->pieces);
}

// Returns whether TensorInfo::requires_grad of the tensor is known and no write can have changed it.
bool ShapePropagation::knows_gradient(const Value& value) const {
  const auto info = find_tensor_info(value);
  if (!info || !info->requires_grad) return false;
  const GradientWrites& writes = state_.gradient_writes;
  const bool is_number = info->dtype && !is_floating(*info->dtype) && !is_complex(*info->dtype);
  return is_number || (!writes.may_change && (*info->requires_grad || !writes.may_gain));
}

// Throws TraceFailure where neither the trace nor the graph can tell whether the tensor requires a gradient.
void ShapePropagation::check_gradient(const IrNode* node, const Value& value) const {
  if (!state_.gradient_writes.disabled || recorder.find_recorded(value) == nullptr) return;
  if (run_.shapes && knows_gradient(value)) return;
  if (recorder.is_given(value) && !state_.gradient_writes.any) return;
  frames_.refuse(
      "requires_grad of " + recorder.describe(value) + " depends on torch.no_grad(), which leaves no node",
      node);
}

void ShapePropagation::note_gradients(const FunctionSchema& schema, const Values& values) {
  if (!schema.writes()) return;
  const InterpreterArguments arguments(values);
  bool writes = false, carries = false;
  for (std::size_t i = 0; i < values.size() && i < schema.arguments.size(); ++i) {
    const auto& argument = schema.arguments[i];
    if (!may_hold_tensor(*argument.type)) continue;
    const auto info = argument.is_written ? find_tensor_info(values[i]) : std::nullopt;
    const bool is_number = info && info->dtype && !is_floating(*info->dtype) && !is_complex(*info->dtype);
    writes = writes || (argument.is_written && interpreter::is_tensor(*argument.type) && !is_number);
    carries = carries || may_require_grad(arguments, i);
  }
  if (!writes) return;
  GradientWrites& all = state_.gradient_writes;
  all.any = true;
  all.may_gain = all.may_gain || (carries && state_.switches.grad);
  const std::string& name = schema.name;
  const bool says_not = values.back().is_bool() && !values.back().to_bool() && !carries;
  if (name == "aten::detach_" || name.starts_with("aten::set_")) all.may_change = all.may_change || carries;
  if (name == "aten::requires_grad_") all.may_change = all.may_change || !says_not;
}

// Within `with torch.no_grad()` results require no gradient, except views of tensors that do.
void ShapePropagation::drop_gradients(const FunctionSchema& schema, const Values& values,
                                      std::vector<AbstractValue>& results) const {
  const Operator* row = find_operator(schema);
  if (row == nullptr) return;
  const InterpreterArguments arguments(values);
  const std::vector<Alias>& all = entry_of(*row).aliases;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool may_carry = std::ranges::any_of(all, [&](const Alias& alias) {
      return alias.result == i && alias.argument < values.size() &&
             may_require_grad(arguments, alias.argument);
    });
    if (!may_carry) forget_gradients(results[i]);
  }
}

// Updates what is known of the arguments that the operator writes, as of a list that is extended, or of x in
// x.unsqueeze_(0), and of their aliases.
void ShapePropagation::change_arguments(const IrNode* node, const FunctionSchema& schema,
                                        const Values& values, const std::vector<AbstractValue>& results) {
  for (std::size_t i = 0; i < values.size() && i < schema.arguments.size(); ++i) {
    const Proxy* proxy = find_proxy(values[i]);
    if (!schema.arguments[i].is_written) continue;
    const bool is_tensor = interpreter::is_tensor(*schema.arguments[i].type);
    if (is_tensor || !has_trait(node, traits::kMovesElements)) constants.note_write(values[i]);
    if (proxy == nullptr && !values[i].is_tensor()) continue;
    const bool is_out = results.size() == 1 && schema.arguments[i].keyword_only;
    const bool same = (i == 0 || is_out) && is_tensor && !results.empty() && results[0].tensor() != nullptr;
    const bool may_have_other_sizes = is_tensor && (has_trait(node, traits::kChangesShape) || !same);
    if (proxy != nullptr && !proxy->known) continue;  // no name of it has anything known
    // Only shapes are known of the model's own tensors.
    if (proxy == nullptr && !may_have_other_sizes) continue;
    const TensorNames::KnownValue target = shared_known(values[i]);
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): change_known() writes it
    const AbstractValue before = *target;
    AbstractValue after = same ? results[0] : AbstractValue{};
    if (auto* info = std::get_if<TensorInfo>(&after.value); info != nullptr && !may_have_other_sizes) {
      if (!info->contiguous && before.tensor() != nullptr) {
        info->contiguous = before.tensor()->contiguous;
        info->contiguity_assumed = before.tensor()->contiguity_assumed;
      }
      if (i == 0 && info->content && recorder.runs_once())
        info->content = ConstantTensors::written(*info->content);
    }
    change_known(target, std::move(after));
    if (!is_tensor) state_.names.rearrange(target);
    if (!may_have_other_sizes || (*target == before && !before.is_unknown())) continue;
    change_others(target);
  }
}

// Returns the Known of a tensor, list, tuple, dict or object that depends on inputs, or of a tensor of the
// model; null for other values.
TensorNames::KnownValue ShapePropagation::shared_known(const Value& value) {
  if (value.is_tensor()) return state_.names.known_for(value.to_tensor());
  const Proxy* proxy = find_proxy(value);
  if (proxy == nullptr || !may_hold_tensor(*proxy->static_type)) return nullptr;
  if (!proxy->known) share_known(value, std::make_shared<AbstractValue>());
  return proxy->known;
}

void ShapePropagation::add_shared(const Value& value, std::vector<TensorNames::KnownValue>& all, int depth) {
  constexpr int kMaxDepth = 8;
  if (depth > kMaxDepth) return;
  run_.budget.spend(1);
  if (TensorNames::KnownValue known = shared_known(value)) {
    all.push_back(std::move(known));
  } else if (value.is_list() || value.is_tuple()) {
    for (const Value& item : value.items()) add_shared(item, all, depth + 1);
  } else if (value.is_dict()) {
    for (const auto& entry : value.to_dict().entries()) add_shared(entry.value, all, depth + 1);
  } else if (value.is_object() && !value.to_object().type->is_module()) {
    for (const Value& slot : value.to_object().slots) add_shared(slot, all, depth + 1);
  }
}

void ShapePropagation::link(const TensorNames::KnownValue& one, const TensorNames::KnownValue& other) {
  constexpr std::size_t kUnitsOfLink = 8;
  run_.budget.spend(kUnitsOfLink);
  state_.names.link(one, other);
}

// Makes the result, which is the argument, share the argument's Known.
void ShapePropagation::share(const Value& argument, const Value& result) {
  if (find_proxy(result) == nullptr) return;
  const TensorNames::KnownValue known = shared_known(argument);
  if (known == nullptr) return;
  if (known->is_unknown()) change_known(known, known_of(result));
  share_known(result, known);
}

void ShapePropagation::note_results(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  if (!run_.shapes || values.empty() || schema.arguments.empty()) return;
  const bool moves_elements =
      has_trait(node, traits::kMovesElements) && !interpreter::is_tensor(*schema.arguments[0].type);
  if (moves_elements) {
    const TensorNames::KnownValue whole = shared_known(values[0]);
    if (whole == nullptr) return;
    const auto* result = node->outputs().size() == 1 ? &frames_.value(node->output()) : nullptr;
    const auto* items = whole->sequence();
    if (schema.name == "aten::__getitem__" && items != nullptr && result != nullptr && values[1].is_int()) {
      const std::int64_t at = values[1].to_int() + (values[1].to_int() < 0 ? std::ssize(*items) : 0);
      if (at >= 0 && at < std::ssize(*items)) {
        note_part(values[0], static_cast<std::size_t>(at), *result);
        return;
      }
    }
    std::vector<TensorNames::KnownValue> all;
    for (const Value& value : values) add_shared(value, all);
    if (result != nullptr) add_shared(*result, all);
    for (const TensorNames::KnownValue& known : all) link(whole, known);
    return;
  }
  if (!schema.writes() && !has_trait(node, traits::kMayBeArgument)) return;
  const Operator* row = find_operator(schema);
  if (row == nullptr) return;
  for (const Alias& alias : entry_of(*row).aliases) {
    if (!alias.may_be_same || alias.argument >= values.size() || alias.result >= node->outputs().size())
      continue;
    const IrValue* output = node->output(alias.result);
    if (!output->has_uses()) continue;
    const Value& argument = values[alias.argument];
    const Value& result = frames_.value(output);
    if (alias.always && !alias.of_elements && schema.arguments[alias.argument].is_written &&
        interpreter::is_tensor(*output->type())) {
      share(argument, result);
      continue;
    }
    std::vector<TensorNames::KnownValue> all;
    add_shared(argument, all);
    const TensorNames::KnownValue known = shared_known(result);
    if (known == nullptr) continue;
    for (const TensorNames::KnownValue& other : all) link(known, other);
  }
}

Value ShapePropagation::note_part(const Value& whole, std::optional<std::size_t> index, Value part) {
  if (!run_.shapes || find_proxy(part) == nullptr) return part;
  const TensorNames::KnownValue around = shared_known(whole);
  if (around == nullptr || !may_hold_tensor(*find_proxy(part)->static_type)) return part;
  if (!index) {
    link(around, shared_known(part));
    return part;
  }
  constexpr std::size_t kUnitsOfPart = 16;
  run_.budget.spend(kUnitsOfPart);
  if (auto known = state_.names.find_part(around, *index)) {
    share_known(part, std::move(known));
    return part;
  }
  share_known(part, state_.names.add_part(around, *index, known_of(part)));
  changes_.add([this, around, at = *index] { state_.names.forget_part(around, at); });
  return part;
}

void ShapePropagation::note_call(const Value& result, const Value& inner, const Values& arguments) {
  if (!run_.shapes || find_proxy(result) == nullptr) return;
  std::vector<TensorNames::KnownValue> given, made;
  for (const Value& argument : arguments) add_shared(argument, given);
  add_shared(inner, made);
  for (const TensorNames::KnownValue& known : made) {
    if (!state_.names.is_linked(known) && std::ranges::find(given, known) == given.end()) continue;
    if (const TensorNames::KnownValue whole = shared_known(result)) link(whole, known);
  }
}

void ShapePropagation::note_choice(const Value& result, const Values& of) {
  if (!run_.shapes || find_proxy(result) == nullptr) return;
  const TensorNames::KnownValue known = shared_known(result);
  if (known == nullptr) return;
  constants.note_choice(*known, of);
  std::vector<TensorNames::KnownValue> all;
  for (const Value& value : of) add_shared(value, all);
  for (const TensorNames::KnownValue& other : all) link(known, other);
}

AbstractValue ShapePropagation::either(const Value& first, const Value& second) {
  AbstractValue known = known_of_value(first);
  const AbstractValue other = known_of_value(second);
  if (known == other) return known;
  if (known.integer() != nullptr && other.integer() != nullptr) {
    const Range one = state_.dimensions.bounds(*known.integer()),
                two = state_.dimensions.bounds(*other.integer());
    Range either;
    if (one.low && two.low) either.low = std::min(*one.low, *two.low);
    if (one.high && two.high) either.high = std::max(*one.high, *two.high);
    return {state_.dimensions.fresh(either)};
  }
  auto* info = std::get_if<TensorInfo>(&known.value);
  if (info == nullptr || other.tensor() == nullptr || info->dim() != other.tensor()->dim()) return {};
  info->content = nullptr;
  if (info->dtype != other.tensor()->dtype) info->dtype.reset();
  for (std::size_t i = 0; i < info->sizes.size(); ++i) {
    if (!(info->sizes[i] == other.tensor()->sizes[i])) info->sizes[i] = state_.dimensions.fresh();
  }
  return known;
}

// Returns whether what is known of a tensor of the model among the values may have changed.  Then `changed`
// gets the values, with a proxy of the current shape in the place of each such tensor.
bool ShapePropagation::with_current_shapes(const Values& values, Values& changed) const {
  const auto find = [&](const Value& value) {
    return value.is_tensor() ? state_.names.find_known(value.to_tensor()) : nullptr;
  };
  const auto stand_in = [&](const Value& value) {
    const TensorNames::KnownValue known = find(value);
    if (known == nullptr) return value;
    Value now = make_proxy(NodeRef{}, tensor_type());
    share_known(now, known);
    return now;
  };
  const auto is_concerned = [&](const Value& value) {
    return find(value) != nullptr ||
           (value.is_list() &&
            std::ranges::any_of(value.items(), [&](const Value& item) { return find(item) != nullptr; }));
  };
  if (!state_.names.has_changed() || std::ranges::none_of(values, is_concerned)) return false;
  for (const Value& value : values) {
    if (!value.is_list()) {
      changed.push_back(stand_in(value));
      continue;
    }
    Values items;
    for (const Value& item : value.items()) items.push_back(stand_in(item));
    changed.push_back(make_list(value.to_list().element_type, std::move(items)));
  }
  return true;
}

// Updates what is known of a list whose elements are known after xs.pop(), xs.append(x), xs.reverse() and the
// like.  Returns false for other operators.
bool ShapePropagation::change_list(const FunctionSchema& schema, const Values& values,
                                   std::vector<AbstractValue>& results) {
  const Proxy* proxy = values.empty() ? nullptr : find_proxy(values[0]);
  const AbstractValue::Sequence* sequence = proxy == nullptr ? nullptr : known_of(values[0]).sequence();
  if (sequence == nullptr || proxy->static_type->kind() != TypeKind::kList) return false;
  auto changed = changed_list(schema, values);
  if (!changed) return false;
  run_.budget.spend(changed->rest.size());
  if (schema.name == "aten::pop") results[0] = std::move(changed->taken);
  // xs += ys gives the list again.
  if (schema.name == "aten::add_") results[0] = AbstractValue{changed->rest};
  const TensorNames::KnownValue list = proxy->known;
  change_known(list, AbstractValue{std::move(changed->rest)});
  state_.names.rearrange(list);
  return true;
}

// Answers len(), `in`, items, keys() and the like of a dict whose keys are known.
bool ShapePropagation::answer_dict(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  const auto* dict = values.empty() ? nullptr : known_of(values[0]).dict();
  if (dict == nullptr) return false;
  const std::string& name = schema.name;
  const auto* type = find_proxy(values[0])->static_type->as<DictType>();
  if (type == nullptr) return false;
  const auto part = [&](const Value& key, std::size_t index, const AbstractValue& known) {
    return note_part(values[0], index,
                     recorder.apply("operator.getitem", {values[0], key}, type->value(), node, known));
  };
  if (name == "aten::len") {
    frames_.set(node, static_cast<std::int64_t>(dict->keys.size()));
    return true;
  }
  if ((name == "aten::__getitem__" || name == "aten::__contains__") && values.size() == 2) {
    if (!is_plain(values[1])) return false;
    const auto found = std::ranges::find(dict->keys, literal_value(values[1]));
    const bool is_there = found != dict->keys.end();
    if (name == "aten::__contains__") {
      frames_.set(node, is_there);
      return true;
    }
    if (!is_there) return false;
    const auto index = static_cast<std::size_t>(found - dict->keys.begin());
    frames_.set(node, part(values[1], index, AbstractValue(dict->values[index])));
    return true;
  }
  const bool keys = name == "aten::keys" || name == "aten::items";
  const bool items = name == "aten::values" || name == "aten::items";
  if (!keys && !items) return false;
  const AbstractValue::Dict entries = *dict;  // recording may change what is known
  auto list = make_counted<ListValue>(node->output()->type()->as<ListType>()->element());
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const Value key = plain_value(entries.keys[i]);
    const AbstractValue& known = entries.values[i];
    if (!items) {
      list->items.push_back(key);
    } else if (!keys) {
      list->items.push_back(part(key, i, known));
    } else {
      list->items.push_back(make_tuple({key, part(key, i, known)}));
    }
  }
  frames_.set(node, list);
  return true;
}

void ShapePropagation::change_known(const TensorNames::KnownValue& target, AbstractValue known) {
  if (*target == known) return;
  state_.names.note_change(target);
  if (recorder.is_in_leaf()) {
    // The leaf's changes of its arguments stay, and no node of the graph shows them.
    AbstractValue both = common(*target, known);
    if (auto* info = std::get_if<TensorInfo>(&both.value)) {
      if (known.tensor()->find_content() != nullptr) {
        // Elements are known within the leaf only, as it may be followed again for the same call.
        info->content = known.tensor()->content;
        changes_.add([target] { forget_contents(*target); });
      }
      *target = std::move(both);
      return;
    }
    changes_.add([target] { *target = {}; });
  } else {
    changes_.add([target, before = *target] { *target = before; });
  }
  *target = std::move(known);
}

void ShapePropagation::change_others(const TensorNames::KnownValue& changed) {
  const auto forget = [](AbstractValue& known) {
    if (auto* items = std::get_if<AbstractValue::Sequence>(&known.value)) {
      std::ranges::fill(*items, AbstractValue{});
    } else if (auto* dict = std::get_if<AbstractValue::Dict>(&known.value)) {
      std::ranges::fill(dict->values, AbstractValue{});
    } else {
      known = {};
    }
  };
  for (const TensorNames::Other& other : state_.names.others_changed_by(changed)) {
    run_.budget.spend(1);
    AbstractValue known = *other.known;
    if (known.tensor() != nullptr) ConstantTensors::note_write(known);
    if (!other.part) {
      forget(known);
    } else if (auto* items = std::get_if<AbstractValue::Sequence>(&known.value)) {
      if (*other.part < items->size()) (*items)[*other.part] = other.is_same ? *changed : AbstractValue{};
    } else if (auto* dict = std::get_if<AbstractValue::Dict>(&known.value);
               dict != nullptr && *other.part < dict->values.size()) {
      dict->values[*other.part] = other.is_same ? *changed : AbstractValue{};
    }
    change_known(other.known, std::move(known));
  }
}

// Returns whether the node asks for a size of a constant of the code, which is known without shapes of
// inputs.
bool ShapePropagation::asks_size_of_constant(const IrNode* node, const Values& values) {
  return !values.empty() && values[0].is_tensor() && has_trait(node, traits::kGivesSize) &&
         constants.is_as_in_code(values[0].to_tensor()) &&
         std::all_of(values.begin() + 1, values.end(), is_plain);
}

}  // namespace fxtrace::internal::interpreter
