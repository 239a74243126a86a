#include "exported/fold.h"

#include <algorithm>
#include <cstdint>

namespace fxtrace {
namespace {

std::optional<std::int64_t> as_integer(const Argument& value) {
  if (const auto* integer = value.get_if<std::int64_t>()) return *integer;
  if (const auto* boolean = value.get_if<bool>()) return *boolean ? 1 : 0;
  return std::nullopt;
}

std::optional<Argument> fold_one(std::string_view name, std::int64_t a) {
  std::int64_t result = 0;
  if (name == "neg" && !__builtin_sub_overflow(std::int64_t{0}, a, &result)) return result;
  if (name == "pos") return a;
  if (name == "not_") return a == 0;
  return std::nullopt;
}

std::optional<Argument> fold_two(std::string_view name, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (name == "add" && !__builtin_add_overflow(a, b, &result)) return result;
  if (name == "sub" && !__builtin_sub_overflow(a, b, &result)) return result;
  if (name == "mul" && !__builtin_mul_overflow(a, b, &result)) return result;
  if ((name == "floordiv" || name == "mod") && b != 0 && !(a == INT64_MIN && b == -1)) {
    std::int64_t quotient = a / b;
    if (a % b != 0 && (a < 0) != (b < 0)) --quotient;  // Python rounds down
    return name == "mod" ? a - quotient * b : quotient;
  }
  if (name == "eq") return a == b;
  if (name == "ne") return a != b;
  if (name == "lt") return a < b;
  if (name == "le") return a <= b;
  if (name == "gt") return a > b;
  if (name == "ge") return a >= b;
  return std::nullopt;
}

}  // namespace

std::optional<Argument> fold(std::string_view target, const std::vector<Argument>& args) {
  constexpr std::string_view kOperator = "operator.";
  if (!target.starts_with(kOperator)) return std::nullopt;
  const auto name = target.substr(kOperator.size());
  std::vector<std::int64_t> values;
  for (const auto& argument : args) {
    const auto value = as_integer(argument);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  if (values.size() == 1) return fold_one(name, values[0]);
  if (values.size() == 2) return fold_two(name, values[0], values[1]);
  return std::nullopt;
}

}  // namespace fxtrace
