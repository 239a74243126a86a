#include "operators/python_functions.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fxtrace {
namespace {

struct PythonSymbol {
  std::string_view target, symbol;
};
constexpr std::array<PythonSymbol, 20> kSymbols{
    {{"operator.add", "+"},     {"operator.sub", "-"},        {"operator.mul", "*"},
     {"operator.truediv", "/"}, {"operator.floordiv", "//"},  {"operator.mod", "%"},
     {"operator.pow", "**"},    {"operator.eq", "=="},        {"operator.ne", "!="},
     {"operator.lt", "<"},      {"operator.le", "<="},        {"operator.gt", ">"},
     {"operator.ge", ">="},     {"operator.and_", "&"},       {"operator.or_", "|"},
     {"operator.xor", "^"},     {"operator.lshift", "<<"},    {"operator.rshift", ">>"},
     {"operator.is_", "is"},    {"operator.is_not", "is not"}}};

using Result = std::optional<PythonNumber>;
using Integer = std::int64_t;

template <class... Values>
struct Function {
  std::string_view name;
  Result (*apply)(Values...);
};

Result add(Integer a, Integer b) { return __builtin_add_overflow(a, b, &a) ? Result() : Result(a); }
Result subtract(Integer a, Integer b) { return __builtin_sub_overflow(a, b, &a) ? Result() : Result(a); }
Result multiply(Integer a, Integer b) { return __builtin_mul_overflow(a, b, &a) ? Result() : Result(a); }
// Python rounds down.
Result floordiv(Integer a, Integer b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
Result mod(Integer a, Integer b) {
  if (b == 0 || b == -1) return b == 0 ? Result() : Result(Integer{0});
  return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}
Result power(Integer a, Integer b) {
  constexpr Integer kLargest = 64;
  if (b < 0 || b > kLargest) return std::nullopt;
  Integer result = 1;
  for (; b > 0; --b) {
    if (__builtin_mul_overflow(result, a, &result)) return std::nullopt;
  }
  return result;
}
// Where Python raises or has a complex number, nothing.
Result power_of_number(double a, double b) {
  const double result = a > 0 ? std::pow(a, b) : HUGE_VAL;
  return std::isfinite(result) ? Result(result) : Result();
}
Result truediv(double a, double b) { return b == 0 ? Result() : Result(a / b); }
Result integer(double value) {
  constexpr double kFits = 9e18;
  return std::abs(value) < kFits ? Result(static_cast<Integer>(value)) : Result();
}

constexpr std::array<Function<Integer>, 7> kOfInteger{
    {{"operator.neg", [](Integer a) { return subtract(0, a); }},
     {"operator.pos", [](Integer a) { return Result(a); }},
     {"math.floor", [](Integer a) { return Result(a); }},
     {"math.ceil", [](Integer a) { return Result(a); }},
     {"math.trunc", [](Integer a) { return Result(a); }},
     {"torch.sym_int", [](Integer a) { return Result(a); }},
     {"operator.not_", [](Integer a) { return Result(a == 0); }}}};
constexpr std::array<Function<Integer, Integer>, 14> kOfIntegers{
    {{"operator.add", add},
     {"operator.sub", subtract},
     {"operator.mul", multiply},
     {"operator.floordiv", floordiv},
     {"operator.mod", mod},
     {"operator.pow", power},
     {"torch.sym_max", [](Integer a, Integer b) { return Result(std::max(a, b)); }},
     {"torch.sym_min", [](Integer a, Integer b) { return Result(std::min(a, b)); }},
     {"operator.eq", [](Integer a, Integer b) { return Result(a == b); }},
     {"operator.ne", [](Integer a, Integer b) { return Result(a != b); }},
     {"operator.lt", [](Integer a, Integer b) { return Result(a < b); }},
     {"operator.le", [](Integer a, Integer b) { return Result(a <= b); }},
     {"operator.gt", [](Integer a, Integer b) { return Result(a > b); }},
     {"operator.ge", [](Integer a, Integer b) { return Result(a >= b); }}}};
constexpr std::array<Function<double>, 6> kOfNumber{
    {{"operator.neg", [](double a) { return Result(-a); }},
     {"torch.sym_float", [](double a) { return Result(a); }},
     {"torch.sym_int", integer},
     {"math.trunc", integer},
     {"math.floor", [](double a) { return integer(std::floor(a)); }},
     {"math.ceil", [](double a) { return integer(std::ceil(a)); }}}};
constexpr std::array<Function<double, double>, 11> kOfNumbers{
    {{"operator.add", [](double a, double b) { return Result(a + b); }},
     {"operator.sub", [](double a, double b) { return Result(a - b); }},
     {"operator.mul", [](double a, double b) { return Result(a * b); }},
     {"operator.truediv", truediv},
     {"operator.pow", power_of_number},
     {"operator.eq", [](double a, double b) { return Result(a == b); }},
     {"operator.ne", [](double a, double b) { return Result(a != b); }},
     {"operator.lt", [](double a, double b) { return Result(a < b); }},
     {"operator.le", [](double a, double b) { return Result(a <= b); }},
     {"operator.gt", [](double a, double b) { return Result(a > b); }},
     {"operator.ge", [](double a, double b) { return Result(a >= b); }}}};
constexpr std::array<Function<bool>, 1> kOfBoolean{{{"torch.sym_not", [](bool a) { return Result(!a); }}}};
constexpr std::array<Function<bool, bool>, 3> kOfBooleans{
    {{"operator.and_", [](bool a, bool b) { return Result(a && b); }},
     {"operator.or_", [](bool a, bool b) { return Result(a || b); }},
     {"operator.xor", [](bool a, bool b) { return Result(a != b); }}}};

std::optional<bool> as_boolean(const PythonNumber& value) {
  const auto* boolean = std::get_if<bool>(&value);
  return boolean != nullptr ? std::optional(*boolean) : std::nullopt;
}
std::optional<Integer> as_integer(const PythonNumber& value) {
  if (const auto* integer = std::get_if<Integer>(&value)) return *integer;
  if (const auto boolean = as_boolean(value)) return *boolean ? 1 : 0;
  return std::nullopt;
}
std::optional<double> as_number(const PythonNumber& value) {
  constexpr Integer kExact = Integer{1} << 53;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  const auto integer = as_integer(value);
  if (!integer || *integer > kExact || *integer < -kExact) return std::nullopt;
  return static_cast<double>(*integer);
}

// The function of that name in the table that takes one or two such values, applied.
template <class As, class One, class Two>
Result apply(std::string_view target, const std::vector<PythonNumber>& args, As&& as, const One& ones,
             const Two& twos) {
  const auto named = [&](const auto& function) { return function.name == target; };
  const auto first = args.empty() ? decltype(as(args[0]))() : as(args[0]);
  if (!first) return std::nullopt;
  if (args.size() == 1) {
    const auto found = std::find_if(ones.begin(), ones.end(), named);
    return found == ones.end() ? Result() : found->apply(*first);
  }
  const auto second = as(args[1]);
  const auto found = std::find_if(twos.begin(), twos.end(), named);
  return args.size() != 2 || !second || found == twos.end() ? Result() : found->apply(*first, *second);
}

}  // namespace

std::string_view python_symbol(std::string_view target) {
  const auto found = std::ranges::find(kSymbols, target, &PythonSymbol::target);
  return found == kSymbols.end() ? std::string_view() : found->symbol;
}

std::optional<PythonNumber> evaluate_python(std::string_view target, const std::vector<PythonNumber>& args) {
  if (auto result = apply(target, args, as_boolean, kOfBoolean, kOfBooleans)) return result;
  if (auto result = apply(target, args, as_integer, kOfInteger, kOfIntegers)) return result;
  // Where integers are too large they must not become floating-point numbers.
  const bool are_integers = std::all_of(
      args.begin(), args.end(), [](const PythonNumber& value) { return as_integer(value).has_value(); });
  constexpr std::array<std::string_view, 2> kMakeNumbers{"operator.truediv", "torch.sym_float"};
  const bool makes_number = std::find(kMakeNumbers.begin(), kMakeNumbers.end(), target) != kMakeNumbers.end();
  if (are_integers && !makes_number) return std::nullopt;
  return apply(target, args, as_number, kOfNumber, kOfNumbers);
}

}  // namespace fxtrace
