#include "torchscript/shape_questions.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>

#include "families/shape_helpers.h"
#include "operators/operators.h"
#include "torchscript/convert.h"
#include "torchscript/symbolic_value.h"

namespace fxtrace::torchscript {
namespace {

// Rows are read once; what others declare may change with the archive.
const CalledOperator& called_operator(const FunctionSchema& schema, CalledOperator& other) {
  thread_local std::unordered_map<const Operator*, CalledOperator> known;  // a library may trace in several
  const Operator* row = find_operator(schema);
  if (row != nullptr) {
    const auto [place, is_new] = known.try_emplace(row);
    if (is_new) place->second = CalledOperator::of(*row);
    return place->second;
  }
  other = {schema.name, converted_schema(schema), 0};
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

Inferred infer_shapes(const FunctionSchema& schema, const std::vector<Value>& values, ShapeEnv& dimensions,
                      const ReadConstant& constant) {
  const InterpreterArguments arguments(values, constant);
  CalledOperator other;
  return fxtrace::infer_shapes(RuleArguments(called_operator(schema, other), arguments, dimensions));
}

std::optional<Pieces> pieces_of(const FunctionSchema& schema, const std::vector<Value>& values,
                                ShapeEnv& dimensions, std::int64_t count) {
  const InterpreterArguments arguments(values);
  CalledOperator other;
  return fxtrace::pieces_of(RuleArguments(called_operator(schema, other), arguments, dimensions), count);
}

Evaluated evaluate_plain(const FunctionSchema& schema, const std::vector<Value>& values,
                         const ShapeEnv& dimensions) {
  Evaluated result = fxtrace::evaluate_plain(schema.name, InterpreterArguments(values), dimensions);
  forget_literals(result.known);
  return result;
}

std::optional<ChangedList> changed_list(const FunctionSchema& schema, const std::vector<Value>& values) {
  std::optional<ChangedList> result = fxtrace::changed_list(schema.name, InterpreterArguments(values));
  if (result) std::ranges::for_each(result->rest, forget_literals);
  return result;
}

std::vector<SymInt> evaluate_elements(std::string_view name, const std::vector<Value>& values,
                                      std::size_t count, const ReadConstant& constant) {
  return fxtrace::evaluate_elements(name, InterpreterArguments(values, constant), count);
}

}  // namespace fxtrace::torchscript
