#include "interpreter/evaluate/operator_calls.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "interpreter/evaluate/evaluator.h"
#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"
#include "operators/operators.h"
#include "opinfo/traits.h"
#include "torchscript/operators/operator_table.h"
#include "torchscript/operators/plain_operators.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::interpreter {

namespace {

bool is_container(const Value& value) { return value.is_list() || value.is_dict(); }

// Returns whether elements of any type fit the formal type.
bool takes_anything(const Type& type) {
  if (type.kind() == TypeKind::kVar) return true;
  if (type.kind() == TypeKind::kList) return takes_anything(*type.contained_types()[0]);
  if (type.kind() == TypeKind::kTuple) {
    return std::any_of(type.contained_types().begin(), type.contained_types().end(),
                       [](const auto& inner) { return takes_anything(*inner); });
  }
  if (type.kind() == TypeKind::kDict) return takes_anything(*type.contained_types()[1]);
  return false;
}

// Returns whether the interpreter computes the operator, by its row in the table of operators.
bool is_carried_out(const FunctionSchema& schema, Traits traits, bool all_plain) {
  return all_plain && (traits & traits::kPlain) != 0 && !makes_tensor(schema);
}

FailureKind failure_kind(torchscript::RefusalKind kind) {
  switch (kind) {
    case torchscript::RefusalKind::kRaised:
      return FailureKind::kRaised;
    case torchscript::RefusalKind::kLimit:
      return FailureKind::kLimit;
    default:
      return FailureKind::kUnsupportedOp;
  }
}

bool is_list_of_integers(const Type& type) {
  const auto* list = type.as<ListType>();
  return list != nullptr && list->element()->kind() == TypeKind::kInt;
}

// Returns the overload for a number in the place of a tensor that is added, subtracted, multiplied or divided
// by; null for other operators.
const FunctionSchema* find_overload_for_number(const FunctionSchema& schema) {
  constexpr std::array kNames{"aten::add", "aten::sub", "aten::mul", "aten::div"};
  if (schema.overload_name != "Tensor" || std::ranges::find(kNames, schema.name) == kNames.end())
    return nullptr;
  const auto& overloads = torchscript::registered_overloads(schema.symbol);
  const auto found = std::ranges::find(overloads, "Scalar", &FunctionSchema::overload_name);
  return found == overloads.end() ? nullptr : *found;
}

// Returns the letter that torch takes for a number in the sublist form of einsum().
std::optional<char> letter_of(const Value& number) {
  constexpr std::int64_t kLetters = 26;
  if (!number.is_int() || number.to_int() < 0 || number.to_int() >= 2 * kLetters) return std::nullopt;
  const auto at = static_cast<int>(number.to_int() % kLetters);
  return static_cast<char>((number.to_int() < kLetters ? 'A' : 'a') + at);
}

// Returns the arguments of einsum(equation, tensors) for those of einsum(a, [0], b, [1], [0, 1]), which only
// TorchScript has; nothing if the numbers depend on an input, or torch refuses them.
std::optional<Values> with_equation(const Values& values) {
  std::string equation;
  std::vector<Value> tensors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_result = i + 1 == values.size() && i % 2 == 0;
    if (i % 2 == 0 && !is_result) {
      if (i > 0) equation += ',';
      tensors.push_back(values[i]);
      continue;
    }
    if (!values[i].is_list()) return std::nullopt;
    if (is_result) equation += "->";
    for (const Value& number : values[i].to_list().items) {
      const auto letter = letter_of(number);
      if (!letter) return std::nullopt;
      equation += *letter;
    }
  }
  return Values{Value(std::move(equation)), make_list(tensor_type(), std::move(tensors)), Value()};
}

}  // namespace

// LibTorch does so whenever it optimizes code (torch/csrc/jit/passes/canonicalize_ops.cpp).  Numbers of
// traced Python code are such tensors: for an integer tensor i, i + 0.5 has the default dtype, not float64.
const FunctionSchema* OperatorCalls::take_number(const IrNode* node, const FunctionSchema* schema,
                                                 Values& values) {
  const FunctionSchema* for_number = find_overload_for_number(*schema);
  if (for_number == nullptr || !values[1].is_tensor() || values[1].to_tensor().dim() != 0 ||
      !frames_.is_constant(node->input(1)))
    return schema;
  const auto number = run_.program.archive().find_item(values[1].to_tensor());
  if (!number) return schema;
  if (number->is_bool()) {
    frames_.raise("LibTorch makes a number of a constant tensor that is the second operand of " +
                      schema->name + ", which takes no bool",
                  node);
  }
  values[1] = *number;
  return for_number;
}

void OperatorCalls::check_numbers(const FunctionSchema& schema, const Values& values,
                                  const IrNode* node) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_int()) recorder_.number(values[i].to_int(), meaning_of_parameter(schema, i), node);
  }
}

namespace {

// Returns whether the operator takes a dict by its keys, in whatever order they are.
bool is_by_key(const FunctionSchema& schema) {
  constexpr std::array<std::string_view, 9> kByKey{
      "aten::__contains__", "aten::__getitem__", "aten::_set_item",  "aten::Delete", "aten::get",
      "aten::len",          "aten::pop",         "aten::setdefault", "aten::clear"};
  return std::ranges::find(kByKey, schema.name) != kByKey.end();
}

}  // namespace

void OperatorCalls::run(const IrNode* node) {
  if (node->kind() == Symbol::kPrimTolist) {
    // tolist() has its result type from an annotation: it is computed for known elements, else recorded.
    const auto constant =
        run_.shapes ? propagation_.constants.find_elements(frames_.input(node, 0)) : nullptr;
    const Value dimensions = node->inputs().size() == 3 ? frames_.input(node, 1) : Value();
    if (constant && constant->is_constant() && dimensions.is_int() &&
        dimensions.to_int() == constant->dim()) {
      TypePtr element = node->output()->type();
      while (const auto* list = element->as<ListType>()) element = list->element();
      if (auto list = torchscript::find_list(*constant, element)) return frames_.set(node, *std::move(list));
    }
    const TypePtr type = node->output()->type();
    AbstractValue known;
    const TensorInfo* info = known_of(frames_.input(node, 0)).tensor();
    const auto elements = constant != nullptr ? constant->integers() : std::vector<SymInt>{};
    if (info != nullptr && info->dim() == 1 && !elements.empty() && is_list_of_integers(*type))
      known.value = AbstractValue::Sequence(elements.begin(), elements.end());
    frames_.set(
        node, recorder_.apply("torch.Tensor.tolist", {frames_.input(node, 0)}, type, node, std::move(known)));
    return;
  }
  const FunctionSchema* schema = node->operator_schema();
  if (schema == nullptr && (node->is(Symbol::kPrimEnumName) || node->is(Symbol::kPrimEnumValue))) {
    const Value& member = frames_.input(node, 0);
    if (member.is_enum()) {
      return frames_.set(
          node, node->is(Symbol::kPrimEnumName) ? Value(member.to_enum().name) : member.to_enum().value);
    }
    recorder_.conditions.record_query(member);
    frames_.refuse("the member of an enum depends on an input", node);
  }
  if (schema == nullptr) {
    frames_.refuse(std::string(to_text(node->kind())) + " cannot be followed", node);
  }
  // LibTorch takes a number for equal to itself when it loads the code, nan too.
  if ((schema->name == "aten::eq" || schema->name == "aten::ne") && node->inputs().size() == 2 &&
      node->input(0) == node->input(1) && node->input(0)->type()->kind() == TypeKind::kFloat)
    return frames_.set(node, Value(schema->name == "aten::eq"));
  Values values = frames_.inputs(node);
  // It takes i / 1 for i, an integer where a float is declared.
  const auto is_integer = [&](std::size_t i) { return node->input(i)->type()->kind() == TypeKind::kInt; };
  if (schema->name == "aten::div" && is_integer(0) && is_integer(1) && frames_.is_constant(node->input(1)) &&
      !frames_.is_constant(node->input(0)) && values[1].is_int() && values[1].to_int() == 1)
    return frames_.set(node, values[0]);
  schema = take_number(node, schema, values);
  if (schema->name == "aten::einsum" && schema->is_variadic) {
    auto all = with_equation(values);
    if (!all) frames_.refuse("the dimensions of einsum() are not numbers from 0 to 51", node);
    values = std::move(*all);
    schema = *std::ranges::find(torchscript::registered_overloads(schema->symbol), std::string_view(),
                                &FunctionSchema::overload_name);
  }
  check_numbers(*schema, values, node);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (schema->is_written(i)) code_.note_write(values[i], node);
  }
  if (!recorder_.key_orders.empty() && !is_by_key(*schema))
    for (const Value& value : values) recorder_.note_key_order(value);
  const bool asks_identity = schema->name == "aten::__is__" || schema->name == "aten::__isnot__";
  const bool are_known_objects = asks_identity && std::ranges::all_of(values, &Value::is_object);
  if (are_known_objects || is_structural(node, *schema, values)) return execute(node, std::move(values));
  bool all_plain = true;
  for (const Value& value : values) all_plain = state_.measure(value, node).is_plain && all_plain;
  if (is_carried_out(*schema, propagation_.traits_of(node), all_plain))
    return execute(node, std::move(values));
  if (!propagation_.answer(node, *schema, values)) code_.call_operator(node, *schema, values);
}

bool OperatorCalls::is_structural(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  if (!propagation_.has_trait(node, traits::kMovesElements)) return false;
  if (values.empty()) return schema.name == "aten::dict";  // dict() makes an empty one
  const auto& formals = schema.arguments;
  if (formals.empty() || values.empty() || !is_container(values[0]) || formals.size() != values.size())
    return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Type& formal = *formals[i].type;
    if (!takes_anything(formal)) {
      if (!is_plain(values[i])) return false;
    } else if (formal.kind() != TypeKind::kVar && !is_container(values[i])) {
      return false;
    }
  }
  return true;
}

void OperatorCalls::execute(const IrNode* node, Values values) {
  const FunctionSchema& schema = *node->operator_schema();
  const Operator* row = find_operator(schema);
  const auto plain = row == nullptr ? std::nullopt : torchscript::find_plain_operator(*row);
  if (!plain) frames_.refuse(schema.name + " is not carried out", node);
  run_.budget.spend(torchscript::cost_of(schema.name, values));
  // xs.extend(xs) reads a copy, as it would otherwise read the elements that it adds.
  if (schema.name == "aten::extend" && values.size() == 2 && values[0].is(values[1]))
    values[1] = copy_of(values[1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!schema.is_written(i) || !is_container(values[i])) continue;
    code_.note_change(values[i], name_of(node->input(i)), node);
    state_.changes.remember(values[i]);
  }
  const auto identities = [&] {  // those of the arguments, as append() returns its list
    std::vector<const void*> all;
    for (const Value& each : values) all.push_back(is_container(each) ? each.identity() : nullptr);
    return all;
  }();
  Values results;
  if (auto refusal = torchscript::carry_out(*plain, values, results))
    frames_.fail(failure_kind(refusal->kind), readable_message(refusal->why), node);
  constexpr std::size_t kUnitsOfElement = 3;
  for (const Value& result : results) {
    const bool is_given =
        is_container(result) && std::ranges::find(identities, result.identity()) != identities.end();
    if (!is_given) run_.budget.spend(kUnitsOfElement * torchscript::length_of(result));
  }
  const auto& outputs = node->outputs();
  const bool is_constant = frames_.are_constants(node->inputs());
  for (std::size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
    if (is_constant && !is_container(results[i])) frames_.note_constant(outputs[i]);
    frames_.set(outputs[i], std::move(results[i]));
  }
}

}  // namespace fxtrace::internal::interpreter
