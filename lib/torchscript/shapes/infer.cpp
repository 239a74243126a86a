#include "torchscript/shapes/infer.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "operators/operators.h"
#include "torchscript/convert.h"

namespace fxtrace {
namespace {

// By LibTorch itself: what a library adds is never run.
bool is_registered(const c10::FunctionSchema& schema) {
  const Operator* row = find_operator(schema);
  const std::span<const Operator> rows = registered_operators();
  const std::less<> before;
  return !before(row, rows.data()) && before(row, rows.data() + rows.size());
}

// Rows are read once; what others declare may change with the archive.
const CalledOperator& called_operator(const c10::FunctionSchema& schema, CalledOperator& other) {
  static std::unordered_map<const Operator*, CalledOperator> known;
  const Operator* row = find_operator(schema);
  if (is_registered(schema)) {
    const auto [place, is_new] = known.try_emplace(row);
    if (is_new) place->second = CalledOperator::of(*row);
    return place->second;
  }
  other = {schema.name(), converted_schema(schema), fxtrace::traits_of(row)};
  const auto op = c10::Dispatcher::singleton().findSchema(schema.operator_name());
  if (op && op->hasTag(at::Tag::pointwise)) other.traits |= traits::kPointwise;
  return other;
}

// Remembered are sizes, tensors and what they are in: plain numbers and strings stand in the code.
void forget_literals(AbstractValue& value) {
  const bool is_literal = value.get_if<double>() != nullptr || value.get_if<bool>() != nullptr ||
                          value.get_if<std::string>() != nullptr ||
                          value.get_if<std::complex<double>>() != nullptr;
  if (is_literal) value = {};
  if (auto* items = std::get_if<AbstractValue::Sequence>(&value.value))
    std::ranges::for_each(*items, forget_literals);
  if (auto* dict = std::get_if<AbstractValue::Dict>(&value.value))
    std::ranges::for_each(dict->values, forget_literals);
}

}  // namespace

Inferred infer_shapes(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values,
                      ShapeEnv& dimensions) {
  const InterpreterArguments arguments(values);
  CalledOperator other;
  return infer_shapes(RuleArguments(called_operator(schema, other), arguments, dimensions));
}

Evaluated evaluate_plain(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values,
                         const ShapeEnv& dimensions) {
  Evaluated result = evaluate_plain(schema.name(), InterpreterArguments(values), dimensions);
  forget_literals(result.known);
  return result;
}

std::optional<ChangedList> changed_list(const c10::FunctionSchema& schema,
                                        const std::vector<at::IValue>& values) {
  std::optional<ChangedList> result = changed_list(schema.name(), InterpreterArguments(values));
  if (result) std::ranges::for_each(result->rest, forget_literals);
  return result;
}

std::optional<SymInt> evaluate_element(const c10::FunctionSchema& schema,
                                       const std::vector<at::IValue>& values, const ReadConstant& constant) {
  return evaluate_element(schema.name(), InterpreterArguments(values, constant));
}

}  // namespace fxtrace
