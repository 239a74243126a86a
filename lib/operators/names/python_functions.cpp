#include "operators/names/python_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "support/text/words.h"

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

// Computes as Python does, with unlimited integers; nothing when Python raises, or the result does not fit
// into 64 bits.
Result of_integers(std::string_view target, Integer a, Integer b) {
  const BinaryOperation* operation = find_operation(target);
  if (operation == nullptr) return std::nullopt;
  try {
    const auto number = operation->sizes(a, b).number();
    return number ? Result(*number) : Result();
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

// Computes with floats; nothing when Python raises or returns a complex number.
Result of_numbers(std::string_view target, double a, double b) {
  if (target == "operator.truediv") return b == 0 ? Result() : Result(a / b);
  if (target == "operator.pow") {
    const double result = a > 0 ? std::pow(a, b) : HUGE_VAL;
    return std::isfinite(result) ? Result(result) : Result();
  }
  if (target != "operator.add" && target != "operator.sub" && target != "operator.mul") return std::nullopt;
  return find_operation(target)->reals(a, b);
}

template <class Number>
Result compared(std::string_view target, Number a, Number b) {
  if (target == "operator.eq") return a == b;
  if (target == "operator.ne") return a != b;
  if (target == "operator.lt") return a < b;
  if (target == "operator.le") return a <= b;
  if (target == "operator.gt") return a > b;
  return target == "operator.ge" ? Result(a >= b) : Result();
}

Result of_booleans(std::string_view target, bool a, bool b) {
  if (target == "operator.and_") return a && b;
  if (target == "operator.or_") return a || b;
  return target == "operator.xor" ? Result(a != b) : Result();
}

Result rounded(std::string_view target, double a) {
  constexpr double kFits = 9e18;
  const double whole = target == "math.floor" ? std::floor(a) : target == "math.ceil" ? std::ceil(a) : a;
  return std::abs(whole) < kFits ? Result(static_cast<Integer>(whole)) : Result();
}

constexpr std::string_view kRoundings = "math.floor math.ceil math.trunc torch.sym_int";

Result of_integer(std::string_view target, Integer a) {
  if (target == "operator.neg") return of_integers("operator.sub", 0, a);
  if (target == "operator.not_") return a == 0;
  return target == "operator.pos" || has_word(kRoundings, target) ? Result(a) : Result();
}

Result of_number(std::string_view target, double a) {
  if (target == "operator.neg") return -a;
  if (target == "torch.sym_float") return a;
  return has_word(kRoundings, target) ? rounded(target, a) : Result();
}

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

}  // namespace

const BinaryOperation* find_operation(std::string_view target) {
  using namespace arithmetic;  // NOLINT(google-build-using-namespace): the rows are written with them
  static constexpr std::pair<std::string_view, const BinaryOperation*> kOperations[] = {
      {"operator.add", &kSum},
      {"operator.sub", &kDifference},
      {"operator.mul", &kProduct},
      {"operator.mod", &kRemainder},
      {"operator.floordiv", &kFloorQuotient},
      {"operator.pow", &kPower},
      {"torch.sym_max", &kLargest},
      {"torch.sym_min", &kLeast}};
  const auto* found =
      std::ranges::find(kOperations, target, &std::pair<std::string_view, const BinaryOperation*>::first);
  return found == std::end(kOperations) ? nullptr : found->second;
}

std::string_view python_symbol(std::string_view target) {
  const auto found = std::ranges::find(kSymbols, target, &PythonSymbol::target);
  return found == kSymbols.end() ? std::string_view() : found->symbol;
}

std::optional<PythonNumber> evaluate_python(std::string_view target, const std::vector<PythonNumber>& args) {
  const bool has_two = args.size() == 2;
  if (!has_two && args.size() != 1) return std::nullopt;
  const PythonNumber &first = args.front(), &second = args.back();
  if (const auto a = as_boolean(first), b = as_boolean(second); a && b) {
    if (!has_two && target == "torch.sym_not") return !*a;
    if (auto result = has_two ? of_booleans(target, *a, *b) : Result()) return result;
  }
  // Integer results that are too large must not become floats.
  const bool makes_number = target == "operator.truediv" || target == "torch.sym_float";
  if (const auto a = as_integer(first), b = as_integer(second); a && b && !makes_number) {
    if (!has_two) return of_integer(target, *a);
    auto result = compared(target, *a, *b);
    return result ? result : of_integers(target, *a, *b);
  }
  const auto a = as_number(first), b = as_number(second);
  if (!a || !b) return std::nullopt;
  if (!has_two) return of_number(target, *a);
  auto result = compared(target, *a, *b);
  return result ? result : of_numbers(target, *a, *b);
}

}  // namespace fxtrace
