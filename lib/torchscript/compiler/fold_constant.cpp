// Constant folding: executes an operator on constant arguments while the code is compiled.
#include "torchscript/ir/ir_steps.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "opinfo/traits.h"
#include "torchscript/language/type_relations.h"
#include "torchscript/operators/operator_table.h"
#include "torchscript/operators/plain_operators.h"
#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {
namespace {

// Limits of folding: the length of a string, and the cost of an operator (cost_of()).
constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxCost = 10'000;

// Returns whether values of the type may be mutable; a folded constant would be shared.
bool is_mutable(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kComplex:
    case TypeKind::kBool:
    case TypeKind::kString:
    case TypeKind::kNone:
    case TypeKind::kNumber:
    case TypeKind::kDevice:
      return false;
    case TypeKind::kOptional:
      return is_mutable(*type.contained_types()[0]);
    default:
      return true;
  }
}

std::optional<Value> as_value(const ScriptConstant& constant) {
  if (constant.is_none()) return Value();
  if (const auto* value = constant.get_if<bool>()) return Value(*value);
  if (const auto* value = constant.get_if<std::int64_t>()) return Value(*value);
  if (const auto* value = constant.get_if<double>()) return Value(*value);
  if (const auto* value = constant.get_if<std::complex<double>>()) return Value(*value);
  const auto* text = constant.get_if<std::string>();
  if (text != nullptr && text->size() <= kMaxText) return Value(*text);
  return std::nullopt;
}

std::optional<ScriptConstant> as_constant(const Value& value) {
  switch (value.kind()) {
    case ValueTag::kNone:
      return ScriptConstant();
    case ValueTag::kBool:
      return ScriptConstant(value.to_bool());
    case ValueTag::kInt:
      return ScriptConstant(value.to_int());
    case ValueTag::kDouble:
      return ScriptConstant(value.to_double());
    case ValueTag::kComplex:
      return ScriptConstant(value.to_complex());
    case ValueTag::kString:
      if (value.to_string().size() > kMaxText) return std::nullopt;
      return ScriptConstant(value.to_string());
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<ScriptConstant> fold(const IrNode& node) {
  if (node.is(Symbol::kPrimUncheckedCast) && !is_mutable(*node.output()->type())) {
    const ScriptConstant* constant = node.input()->node()->constant();
    if (constant != nullptr && as_value(*constant)) return *constant;
  }
  if (node.is(Symbol::kPrimIsinstance)) {
    const ScriptConstant* constant = node.input()->node()->constant();
    if (constant == nullptr || !as_value(*constant)) return std::nullopt;
    const TypePtr type = type_of(*constant, nullptr);
    return ScriptConstant(std::any_of(node.types().begin(), node.types().end(),
                                      [&](const TypePtr& wanted) { return is_subtype(*type, *wanted); }));
  }
  const FunctionSchema* schema = node.operator_schema();
  if (schema == nullptr || schema->row == nullptr || schema->is_variadic) return std::nullopt;
  if (node.outputs().size() != 1 || node.inputs().empty() || is_mutable(*node.output()->type()))
    return std::nullopt;
  std::vector<Value> arguments;
  for (const IrValue* input : node.inputs()) {
    const ScriptConstant* constant = input->node()->constant();
    auto value = constant == nullptr ? std::nullopt : as_value(*constant);
    if (!value) return std::nullopt;
    arguments.push_back(std::move(*value));
  }
  const auto plain = find_plain_operator(*schema->row);
  if (!plain || (plain->entry->traits & (traits::kSideEffect | traits::kRandom)) != 0) return std::nullopt;
  if (cost_of(schema->row->base_name(), arguments) > kMaxCost) return std::nullopt;
  std::vector<Value> results;
  if (carry_out(*plain, arguments, results) || results.size() != 1) return std::nullopt;
  return as_constant(results[0]);
}

}  // namespace fxtrace::internal::torchscript
