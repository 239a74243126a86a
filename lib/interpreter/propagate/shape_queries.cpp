#include "interpreter/propagate/shape_queries.h"

#include <algorithm>

#include "interpreter/program/convert.h"
#include "interpreter/program/symbolic_value.h"
#include "operators/operators.h"
#include "opinfo/operator_entry.h"

namespace fxtrace::internal::interpreter {
namespace {

const OperatorEntry& entry_of(const FunctionSchema& schema, OperatorEntry& other) {
  const Operator* row = find_operator(schema);
  if (row != nullptr) return internal::entry_of(*row);
  other = declared_entry(schema.name, converted_schema(schema));
  return other;
}

// Clears other literals than integers.  Only sizes, tensors and containers of them are remembered, as plain
// numbers and strings are in the code.
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
  OperatorEntry other;
  return internal::infer_shapes(RuleArguments(entry_of(schema, other), arguments, dimensions));
}

std::optional<Pieces> pieces_of(const FunctionSchema& schema, const std::vector<Value>& values,
                                ShapeEnv& dimensions, std::int64_t count) {
  const InterpreterArguments arguments(values);
  OperatorEntry other;
  return internal::pieces_of(RuleArguments(entry_of(schema, other), arguments, dimensions), count);
}

Evaluated evaluate_plain(const FunctionSchema& schema, const std::vector<Value>& values,
                         ShapeEnv& dimensions) {
  const InterpreterArguments arguments(values);
  OperatorEntry other;
  Evaluated result = internal::evaluate_plain(RuleArguments(entry_of(schema, other), arguments, dimensions));
  forget_literals(result.known);
  return result;
}

std::optional<ChangedList> changed_list(const FunctionSchema& schema, const std::vector<Value>& values) {
  std::optional<ChangedList> result = internal::changed_list(schema.name, InterpreterArguments(values));
  if (result) std::ranges::for_each(result->rest, forget_literals);
  return result;
}

}  // namespace fxtrace::internal::interpreter
