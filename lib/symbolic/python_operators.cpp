#include "symbolic/python_operators.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "support/text/words.h"
#include "symbolic/interval.h"

namespace fxtrace::internal {
namespace {

constexpr std::array<PythonOperator, 22> kOperators{{
    {"+", "add", Precedence::kSum, &arithmetic::kSum, {}, "Add"},
    {"-", "sub", Precedence::kSum, &arithmetic::kDifference},
    {"*", "mul", Precedence::kProduct, &arithmetic::kProduct, {}, "Mul"},
    {"/",
     "truediv",
     Precedence::kProduct,
     &arithmetic::kQuotient,
     {},
     "IntTrueDiv",
     "FloatTrueDiv",
     "Rational"},
    {"//", "floordiv", Precedence::kProduct, &arithmetic::kFloorQuotient, {}, "FloorDiv", {}, "CleanDiv"},
    {"%", "mod", Precedence::kProduct, &arithmetic::kRemainder, {}, "PythonMod", "Mod"},
    {"@", "matmul", Precedence::kProduct},
    {"**", "pow", Precedence::kPower, &arithmetic::kPower, {}, {}, "FloatPow", "Pow PowByNatural"},
    {"<<", "lshift", Precedence::kShift, &arithmetic::kLeftShift, {}, {}, {}, "LShift"},
    {">>", "rshift", Precedence::kShift, &arithmetic::kRightShift, {}, {}, {}, "RShift"},
    {"&", "and_", Precedence::kBitAnd, &arithmetic::kBitAnd},
    {"|", "or_", Precedence::kBitOr, &arithmetic::kBitOr},
    {"^", "xor", Precedence::kBitXor, &arithmetic::kBitXor},
    {"==", "eq", Precedence::kCompared, nullptr, Relation::kEqual, "Equality"},
    {"!=", "ne", Precedence::kCompared, nullptr, Relation::kNotEqual, "Unequality"},
    {"<", "lt", Precedence::kCompared, nullptr, Relation::kLess, "StrictLessThan"},
    {"<=", "le", Precedence::kCompared, nullptr, Relation::kLessEqual, "LessThan"},
    {">", "gt", Precedence::kCompared, nullptr, Relation::kGreater, "StrictGreaterThan"},
    {">=", "ge", Precedence::kCompared, nullptr, Relation::kGreaterEqual, "GreaterThan"},
    {"is", "is_", Precedence::kCompared},
    {"is not", "is_not", Precedence::kCompared},
    {"in", {}, Precedence::kCompared},
}};

template <class Matches>
const PythonOperator* find_row(const Matches& matches) {
  const auto* found = std::ranges::find_if(kOperators, matches);
  return found == kOperators.end() ? nullptr : found;
}

using Result = std::optional<PythonNumber>;
using Integer = std::int64_t;

std::optional<Integer> as_integer(const PythonNumber& value) {
  if (const auto* integer = std::get_if<Integer>(&value)) return *integer;
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? 1 : 0;
  return std::nullopt;
}
// Rounds to the nearest float, as float() does.
double as_float(const PythonNumber& value) {
  return std::visit([](auto number) { return static_cast<double>(number); }, value);
}

// Returns an integer of a number without a fraction.
Result whole(double number) {
  constexpr double kEnd = 0x1p63;
  return number >= -kEnd && number < kEnd ? Result(static_cast<Integer>(number)) : Result();
}

Result exactly(const SymInt& value) {
  const auto number = value.number();
  return number ? Result(*number) : Result();
}

// --- functions of one number ---

struct Function {
  std::string_view name;
  const UnaryOperation* operation;
  bool gives_integer;
};
constexpr std::array<Function, 7> kFunctions{{{"builtins.abs", &arithmetic::kMagnitude, false},
                                              {"builtins.round", &arithmetic::kRound, true},
                                              {"math.ceil", &arithmetic::kCeil, true},
                                              {"math.floor", &arithmetic::kFloor, true},
                                              {"math.trunc", &arithmetic::kTrunc, true},
                                              {"operator.neg", &arithmetic::kNegative, false},
                                              {"torch.sym_int", &arithmetic::kTrunc, true}}};

Result of_one(std::string_view target, const PythonNumber& value) {
  const auto integer = as_integer(value);
  if (target == "operator.not_" || target == "torch.sym_not") return as_float(value) == 0;
  if (target == "torch.sym_float") return as_float(value);
  if (target == "operator.pos") return integer ? Result(*integer) : Result(value);
  const auto* function = std::ranges::find(kFunctions, target, &Function::name);
  if (function == kFunctions.end()) return std::nullopt;
  if (integer) return exactly(function->operation->sizes(*integer));
  const double result = function->operation->reals(as_float(value));
  return function->gives_integer ? whole(result) : Result(result);
}

// --- functions of two numbers ---

// Returns the quotient rounded once, as that of floats is not where these round the integers.
double quotient(Integer a, Integer b) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
  const std::uint64_t over = a < 0 ? 0 - bits(a) : bits(a), under = b < 0 ? 0 - bits(b) : bits(b);
  if (over <= kExact && under <= kExact) return static_cast<double>(a) / static_cast<double>(b);
  // More bits than a float has, the last of them set when others follow.
  constexpr int kBelowSign = 62;
  const int shift = std::countl_zero(over) + kBelowSign;
  const symbolic::Wide shifted = static_cast<symbolic::Wide>(over) << shift;
  const symbolic::Wide digits = shifted / under | (shifted % under != 0 ? 1 : 0);
  const double result = std::ldexp(static_cast<double>(digits), -shift);
  return (a < 0) != (b < 0) ? -result : result;
}

Result power(double a, double b) {
  const bool is_finite = std::isfinite(a) && std::isfinite(b);
  if (is_finite && ((a == 0 && b < 0) || (a < 0 && b != std::floor(b)))) return std::nullopt;
  const double result = std::pow(a, b);
  return is_finite && std::isinf(result) ? Result() : Result(result);
}

Result of_floats(const PythonOperator& op, double a, double b) {
  if (op.symbol == "**") return power(a, b);
  const bool divides = op.symbol == "/" || op.symbol == "//" || op.symbol == "%";
  if (op.operation->reals == nullptr || (divides && b == 0)) return std::nullopt;
  const double result = op.operation->reals(a, b);
  return op.symbol == "%" && result == 0 ? std::copysign(0.0, b) : result;
}

Result of_integers(const PythonOperator& op, Integer a, Integer b) {
  if (op.symbol == "/") return b == 0 ? Result() : Result(quotient(a, b));
  if (op.symbol == "**" && b < 0)
    return a == 0 ? Result() : power(static_cast<double>(a), static_cast<double>(b));
  if (op.operation->sizes == nullptr) return op.operation->integers(a, b);
  return exactly(op.operation->sizes(a, b));
}

// Takes the second number only when it is larger (less), as Python does.  torch's functions give a float when
// there is one.
Result extreme(std::string_view target, const PythonNumber& a, const PythonNumber& b) {
  const auto order = compare(b, a);
  const PythonNumber& result = (target.ends_with("max") ? order > 0 : order < 0) ? b : a;
  const bool has_floats = !as_integer(a) || !as_integer(b);
  return has_floats && target.starts_with("torch.") ? as_float(result) : result;
}

Result of_two(std::string_view target, const PythonNumber& a, const PythonNumber& b) {
  if (has_word("builtins.max builtins.min torch.sym_max torch.sym_min", target)) return extreme(target, a, b);
  const PythonOperator* op = operator_of_target(target);
  if (op == nullptr) return std::nullopt;
  if (op->relation) return holds(*op->relation, compare(a, b));
  if (op->operation == nullptr) return std::nullopt;
  const auto x = as_integer(a), y = as_integer(b);
  if (!x || !y) return of_floats(*op, as_float(a), as_float(b));
  Result result = of_integers(*op, *x, *y);
  const bool is_bitwise = op->precedence >= Precedence::kBitOr && op->precedence <= Precedence::kBitAnd;
  const bool are_bools = std::holds_alternative<bool>(a) && std::holds_alternative<bool>(b);
  return is_bitwise && are_bools ? Result(std::get<Integer>(*result) != 0) : result;
}

}  // namespace

const PythonOperator* operator_of_symbol(std::string_view symbol) {
  return find_row([&](const PythonOperator& row) { return row.symbol == symbol; });
}

const PythonOperator* operator_of_target(std::string_view target) {
  constexpr std::string_view kModule = "operator.";
  if (!target.starts_with(kModule)) return nullptr;
  target.remove_prefix(kModule.size());
  return find_row([&](const PythonOperator& row) { return row.name == target && !target.empty(); });
}

const PythonOperator* operator_of_sympy(std::string_view name) {
  return find_row([&](const PythonOperator& row) {
    return row.sympy == name || row.sympy_of_floats == name || has_word(row.other_sympy, name);
  });
}

const PythonOperator* operator_at_start(std::string_view text) {
  const PythonOperator* longest = nullptr;
  for (const PythonOperator& row : kOperators) {
    const bool is_longer = longest == nullptr || row.symbol.size() > longest->symbol.size();
    if (is_longer && !row.symbol.starts_with('i') && text.starts_with(row.symbol)) longest = &row;
  }
  return longest;
}

std::string_view python_symbol(std::string_view target) {
  const PythonOperator* op = operator_of_target(target);
  return op == nullptr ? std::string_view() : op->symbol;
}

const BinaryOperation* find_operation(std::string_view target) {
  if (target == "torch.sym_max") return &arithmetic::kLargest;
  if (target == "torch.sym_min") return &arithmetic::kLeast;
  const PythonOperator* op = operator_of_target(target);
  return op == nullptr ? nullptr : op->operation;
}

std::partial_ordering compare(const PythonNumber& a, const PythonNumber& b) {
  const auto x = as_integer(a), y = as_integer(b);
  if (x && y) return *x <=> *y;
  if (!x && !y) return as_float(a) <=> as_float(b);
  if (!x) return 0 <=> compare(b, a);
  const double real = as_float(b);
  const Result floor = whole(std::floor(real));
  if (!floor) return 0.0 <=> real;  // beyond all integers of 64 bits, or nan
  const Integer below = std::get<Integer>(*floor);
  return *x == below ? std::partial_ordering(std::floor(real) <=> real) : *x <=> below;
}

const char* to_string(Relation relation) {
  return find_row([&](const PythonOperator& row) { return row.relation == relation; })->symbol.data();
}

bool holds(Relation relation, std::partial_ordering order) {
  switch (relation) {
    case Relation::kEqual:
      return order == 0;
    case Relation::kNotEqual:
      return order != 0;
    case Relation::kLess:
      return order < 0;
    case Relation::kLessEqual:
      return order <= 0;
    case Relation::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

std::optional<PythonNumber> evaluate_python(std::string_view target, const std::vector<PythonNumber>& args) {
  try {
    if (args.size() == 1) return of_one(target, args[0]);
    if (args.size() == 2) return of_two(target, args[0], args[1]);
  } catch (const SymbolicError&) {
    // Zero is the divisor, or 64 bits are not enough.
  }
  return std::nullopt;
}

}  // namespace fxtrace::internal
