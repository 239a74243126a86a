#include "opinfo/values/number_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "opinfo/rules/shape_helpers.h"
#include "opinfo/values/value_call.h"

namespace fxtrace::internal::values {
namespace {

using Number = std::variant<std::int64_t, double, Complex, SymInt, Ratio>;

constexpr double kTwoTo63 = 9223372036854775808.0;

Number number_of(const AbstractValue& value) {
  if (const SymInt* size = value.integer())
    return size->is_number() ? Number(*size->number()) : Number(*size);
  if (const auto* real = value.get_if<double>()) return *real;
  if (const auto* ratio = value.get_if<Ratio>()) return *ratio;
  if (const auto* complex = value.get_if<Complex>()) return *complex;
  const auto* flag = value.get_if<bool>();
  need(flag != nullptr);
  return std::int64_t{*flag};
}

template <class T>
bool is(const Number& number) {
  return std::holds_alternative<T>(number);
}
bool is_symbolic(const Number& number) { return is<SymInt>(number) || is<Ratio>(number); }
bool is_integer(const Number& number) { return is<std::int64_t>(number) || is<SymInt>(number); }

double real_of(const Number& number) {
  if (const auto* integer = std::get_if<std::int64_t>(&number)) return static_cast<double>(*integer);
  need(is<double>(number));
  return std::get<double>(number);
}
Complex complex_of(const Number& number) {
  return is<Complex>(number) ? std::get<Complex>(number) : Complex(real_of(number), 0);
}
SymInt size_of(const Number& number) {
  if (const auto* integer = std::get_if<std::int64_t>(&number)) return *integer;
  need(is<SymInt>(number));
  return std::get<SymInt>(number);
}

// Returns a number as an exact fraction; throws CannotTell for floats that need a denominator above 2^16.
Ratio ratio_of(const Number& number) {
  if (is_integer(number)) return {size_of(number), 1};
  if (const auto* ratio = std::get_if<Ratio>(&number)) return *ratio;
  constexpr int kMaxShift = 16;
  constexpr double kMaxNumerator = 1 << 30;
  double real = real_of(number);
  std::int64_t denominator = 1;
  for (int shift = 0; shift <= kMaxShift; ++shift, denominator *= 2, real *= 2) {
    need(std::abs(real) < kMaxNumerator);
    if (real == std::trunc(real)) return {SymInt(static_cast<std::int64_t>(real)), denominator};
  }
  throw CannotTell{};
}

AbstractValue value_of(const Ratio& ratio) {
  if (const auto number = ratio.numerator.number())
    return {static_cast<double>(*number) / static_cast<double>(ratio.denominator)};
  // Python rounds to 53 bits, which products of sizes do not exceed.
  return {ratio};
}

std::int64_t product_of_denominators(std::int64_t a, std::int64_t b) {
  return (SymInt(a) * b).number().value_or(0);
}

// Applies the operation to the numerators over a common denominator, which is exact.
AbstractValue apply_to_ratios(const BinaryOperation& operation, const Ratio& a, const Ratio& b) {
  need(operation.sizes != nullptr);
  if (&operation == &arithmetic::kProduct)
    return value_of({a.numerator * b.numerator, product_of_denominators(a.denominator, b.denominator)});
  need(&operation == &arithmetic::kSum || &operation == &arithmetic::kDifference);
  if (a.denominator == b.denominator)
    return value_of({operation.sizes(a.numerator, b.numerator), a.denominator});
  return value_of({operation.sizes(a.numerator * b.denominator, b.numerator * a.denominator),
                   product_of_denominators(a.denominator, b.denominator)});
}

Complex apply_to_complexes(const BinaryOperation& operation, const Number& a, const Number& b) {
  need(operation.complexes != nullptr);
  if (!is<Complex>(b) && operation.complex_and_real != nullptr)
    return operation.complex_and_real(std::get<Complex>(a), real_of(b));
  if (!is<Complex>(a) && operation.real_and_complex != nullptr)
    return operation.real_and_complex(real_of(a), std::get<Complex>(b));
  return operation.complexes(complex_of(a), complex_of(b));
}

// Converts as LibTorch's Scalar does: to an int of 32 bits.
std::int64_t narrow(double number) {
  if (std::isnan(number) || number < std::numeric_limits<int>::min() ||
      number > std::numeric_limits<int>::max())
    throw Raises{"value cannot be converted to type int without overflow"};
  return static_cast<int>(number);
}
std::int32_t lower_half(std::int64_t number) { return static_cast<std::int32_t>(number); }

std::int64_t integer_of(double whole) {
  need(whole >= -kTwoTo63 && whole < kTwoTo63);
  return static_cast<std::int64_t>(whole);
}

}  // namespace

double real_argument(const ValueCall& call, std::size_t i) { return real_of(number_of(call[i])); }

AbstractValue apply(const BinaryOperation& operation, const AbstractValue& a, const AbstractValue& b,
                    const ShapeEnv& dimensions) {
  const Number x = number_of(a), y = number_of(b);
  if (is_integer(x) && is_integer(y)) {
    if (is_symbolic(x) || is_symbolic(y)) {
      need(operation.sizes != nullptr);
      return {dimensions.simplify(operation.sizes(size_of(x), size_of(y)))};
    }
    need(operation.integers != nullptr);
    return {SymInt(operation.integers(std::get<std::int64_t>(x), std::get<std::int64_t>(y)))};
  }
  if (is_symbolic(x) || is_symbolic(y)) return apply_to_ratios(operation, ratio_of(x), ratio_of(y));
  if (is<Complex>(x) || is<Complex>(y)) return {apply_to_complexes(operation, x, y)};
  return apply_to_reals(operation, a, b);
}

AbstractValue apply_to_reals(const BinaryOperation& operation, const AbstractValue& a,
                             const AbstractValue& b) {
  need(operation.reals != nullptr);
  return {operation.reals(real_of(number_of(a)), real_of(number_of(b)))};
}

AbstractValue apply(const UnaryOperation& operation, const AbstractValue& a, const ShapeEnv& dimensions) {
  const Number x = number_of(a);
  if (const auto* integer = std::get_if<std::int64_t>(&x)) {
    need(operation.integers != nullptr);
    return {SymInt(operation.integers(*integer))};
  }
  if (const auto* ratio = std::get_if<Ratio>(&x)) {
    need(&operation == &arithmetic::kNegative);
    return {Ratio{-ratio->numerator, ratio->denominator}};
  }
  if (const auto* size = std::get_if<SymInt>(&x)) {
    need(operation.sizes != nullptr);
    return {dimensions.simplify(operation.sizes(*size))};
  }
  if (const auto* complex = std::get_if<Complex>(&x)) {
    if (&operation == &arithmetic::kMagnitude) return {std::abs(*complex)};
    need(operation.complexes != nullptr);
    return {operation.complexes(*complex)};
  }
  need(operation.reals != nullptr);
  return {operation.reals(std::get<double>(x))};
}

AbstractValue bits_of_numbers(const BinaryOperation& operation, const AbstractValue& a,
                              const AbstractValue& b) {
  const Number x = number_of(a), y = number_of(b);
  need(is<std::int64_t>(x) && is<std::int64_t>(y));
  const std::int64_t result = operation.integers(std::get<std::int64_t>(x), std::get<std::int64_t>(y));
  if (a.get_if<bool>() == nullptr) return {SymInt(result)};
  need(b.get_if<bool>() != nullptr);
  return {result != 0};
}

// --- quotients ---

AbstractValue true_quotient(const AbstractValue& a, const AbstractValue& b) {
  const Number x = number_of(a), y = number_of(b);
  if (!is_symbolic(x) && !is_symbolic(y)) return {real_of(x) / real_of(y)};
  const Ratio left = ratio_of(x), right = ratio_of(y);
  const auto by = right.numerator.number();
  need(by && *by > 0);
  return value_of({left.numerator * right.denominator, product_of_denominators(left.denominator, *by)});
}
Results complex_quotient(const ValueCall& call) {
  return {{arithmetic::complex_quotient(complex_of(number_of(call[0])), complex_of(number_of(call[1])))}};
}

Results floor_quotient_of_numbers(const ValueCall& call) {
  const Number x = number_of(call[0]), y = number_of(call[1]);
  if (is_integer(x) && is_integer(y))
    return {apply(arithmetic::kFloorQuotient, call[0], call[1], call.args.dimensions)};
  return {{std::floor(real_of(x) / real_of(y))}};
}
Results truncated_quotient_of_numbers(const ValueCall& call) {
  return {apply(arithmetic::kTruncatedQuotient, call[0], call[1], call.args.dimensions)};
}

AbstractValue number_remainder(const AbstractValue& a, const AbstractValue& b, const ShapeEnv& dimensions) {
  const Number x = number_of(a), y = number_of(b);
  if (is_symbolic(x) || is_symbolic(y)) {
    need(is_integer(x) && is_integer(y));
    return apply(arithmetic::kRemainder, a, b, dimensions);
  }
  if (!is<std::int64_t>(x) || !is<std::int64_t>(y))
    return {std::fmod(real_of(y) + std::fmod(real_of(x), real_of(y)), real_of(y))};
  const std::int64_t divisor = std::get<std::int64_t>(y);
  need(divisor != 0);
  if (divisor == -1) return {SymInt(0)};  // the remainder of the least integer by -1 would trap
  const std::int64_t sum = wrapped(bits(divisor) + bits(std::get<std::int64_t>(x) % divisor));
  return {SymInt(sum % divisor)};
}
Results remainder_by_sign(const ValueCall& call) {
  return {{std::remainder(real_argument(call, 0), real_argument(call, 1))}};
}

Results quotient_and_remainder(const ValueCall& call) {
  const Number a = number_of(call[0]), b = number_of(call[1]);
  const ShapeEnv& dimensions = call.args.dimensions;
  if (is_integer(a) && is_integer(b)) {
    return {apply(arithmetic::kFloorQuotient, call[0], call[1], dimensions),
            apply(arithmetic::kRemainder, call[0], call[1], dimensions)};
  }
  const double x = real_of(a), y = real_of(b);
  const auto check = [](double divisor) {
    if (divisor == 0) throw Raises{"ZeroDivisionError: float divmod()"};
  };
  if (is<double>(a) && is<double>(b)) {
    check(y);
    const double rest = arithmetic::kRemainder.reals(x, y);
    return {{(x - rest) / y}, {rest}};
  }
  // LibTorch converts an int and a float to 32 bits.
  const auto half = [](const Number& number) -> double {
    const auto* integer = std::get_if<std::int64_t>(&number);
    return integer != nullptr ? lower_half(*integer) : double{static_cast<float>(std::get<double>(number))};
  };
  const auto dividend = static_cast<float>(half(a)), divisor = static_cast<float>(half(b));
  check(divisor);
  const double floored = std::floor(dividend / divisor);
  if (!std::isfinite(floored))
    throw Raises{"Cannot convert float " + std::to_string(double{dividend / divisor}) + " to integer"};
  const auto quotient = static_cast<double>(integer_of(floored));  // an integer has no -0
  return {{quotient}, {half(a) - quotient * half(b)}};
}

// --- powers ---

namespace {

// std::polar without its assertion that the length is not NaN, for powers of complex and real numbers.
Complex complex_polar(double length, double theta) {
  return {length * std::cos(theta), length * std::sin(theta)};
}
Complex power_of(Complex x, double y) {
  if (x.imag() == 0 && x.real() > 0) return std::pow(x.real(), y);
  const Complex logarithm = std::log(x);
  return complex_polar(std::exp(y * logarithm.real()), y * logarithm.imag());
}
Complex power_of(double x, Complex y) {
  if (!(x > 0)) return std::pow(Complex(x), y);
  return complex_polar(std::pow(x, y.real()), y.imag() * std::log(x));
}

}  // namespace

// pow(): the result of integers is a float.
AbstractValue number_power(const AbstractValue& a, const AbstractValue& b) {
  const Number x = number_of(a), y = number_of(b);
  if (is_symbolic(x)) {
    const Ratio base = ratio_of(x);
    need(is<std::int64_t>(y));
    const SymInt denominator = arithmetic::kPower.sizes(base.denominator, size_of(y));
    return value_of({arithmetic::kPower.sizes(base.numerator, size_of(y)), internal::number_of(denominator)});
  }
  if (is<Complex>(x) && is<Complex>(y)) return {std::pow(std::get<Complex>(x), std::get<Complex>(y))};
  if (is<Complex>(y)) return {power_of(real_of(x), std::get<Complex>(y))};
  if (is<Complex>(x)) return {power_of(std::get<Complex>(x), real_of(y))};
  if (real_of(x) == 0 && real_of(y) < 0) throw Raises{"0.0 cannot be raised to a negative power"};
  return {std::pow(real_of(x), real_of(y))};
}
Results power_of_scalars(const ValueCall& call) {
  return {{std::pow(real_argument(call, 0), real_argument(call, 1))}};
}
// An integer power that is computed as a float, as in LibTorch.
Results integer_power(const ValueCall& call) {
  return {{SymInt(integer_of(std::pow(real_argument(call, 0), real_argument(call, 1))))}};
}

// --- integers ---

Results greatest_common_divisor(const ValueCall& call) {
  std::int64_t a = whole(call, 0), b = whole(call, 1);
  while (b != 0) {
    if (b == -1) return {{SymInt(1)}};
    a = std::exchange(b, a % b);
  }
  return {{SymInt(arithmetic::kMagnitude.integers(a))}};
}

// LibTorch reads only the lower half of the number.
Results factorial(const ValueCall& call) {
  constexpr std::int64_t kMost = 20;
  const std::int64_t number = lower_half(whole(call, 0));
  if (number < 0) throw Raises{"factorial() not defined for negative values"};
  need(number <= kMost);
  std::int64_t product = 1;
  for (std::int64_t i = 2; i <= number; ++i) product *= i;
  return {{SymInt(product)}};
}

// Returns the number of iterations of `for i in range(low, high, step)`.
Results range_length(const ValueCall& call) {
  const std::int64_t step = whole(call, 2);
  const SymInt low = size_of(number_of(call[0])), high = size_of(number_of(call[1]));
  need(step != 0 && step != std::numeric_limits<std::int64_t>::min());
  if (step > 0) return {{call.args.dimensions.simplify(max(0, ceildiv(high - low, step)))}};
  need(low.is_number() && high.is_number());
  return {{max(0, ceildiv(low - high, -step))}};
}
Results derived_index(const ValueCall& call) {
  return {{SymInt(wrapped(bits(whole(call, 1)) + bits(whole(call, 0)) * bits(whole(call, 2))))}};
}

// --- comparisons ---

namespace {

AbstractValue compare_sizes(Relation relation, const SymInt& left, const SymInt& right,
                            const ShapeEnv& dimensions) {
  if (const auto decided = dimensions.decide(relation, left, right)) return {*decided};
  return {Condition{relation, left, right}};
}

const AbstractValue::Sequence* integers(const AbstractValue& value) {
  const auto* items = value.sequence();
  const auto is_integer = [](const AbstractValue& item) { return item.integer() != nullptr; };
  return items != nullptr && std::ranges::all_of(*items, is_integer) ? items : nullptr;
}

// [a, b] == [c, d]
AbstractValue compare_lists(bool equal, const AbstractValue::Sequence& left,
                            const AbstractValue::Sequence& right, const ShapeEnv& dimensions) {
  if (left.size() != right.size()) return {!equal};
  AbstractValue open{equal};
  std::size_t undecided = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const AbstractValue same = compare_sizes(equal ? Relation::kEqual : Relation::kNotEqual,
                                             *left[i].integer(), *right[i].integer(), dimensions);
    if (const auto* known = same.get_if<bool>()) {
      if (*known != equal) return {!equal};
    } else {
      ++undecided;
      open = same;
    }
  }
  need(undecided < 2);
  return open;
}

}  // namespace

AbstractValue compare_values(Relation relation, const ValueCall& call) {
  const ShapeEnv& dimensions = call.args.dimensions;
  need(call.size() == 2);
  const AbstractValue &a = call[0], &b = call[1];
  const bool equal = relation == Relation::kEqual;
  if (equal || relation == Relation::kNotEqual) {
    const auto *left = integers(a), *right = integers(b);
    if (left != nullptr && right != nullptr) return compare_lists(equal, *left, *right, dimensions);
    const auto *first = a.get_if<Device>(), *second = b.get_if<Device>();
    if (first != nullptr && second != nullptr) return {(*first == *second) == equal};
  }
  const Number x = number_of(a), y = number_of(b);
  if (is<std::int64_t>(x) && is<std::int64_t>(y))
    return {holds(relation, std::get<std::int64_t>(x), std::get<std::int64_t>(y))};
  if (is<Complex>(x) || is<Complex>(y)) {
    need(equal || relation == Relation::kNotEqual);
    // LibTorch has no result for an int and a complex number.
    need(!is_integer(x) && !is_integer(y));
    return {(complex_of(x) == complex_of(y)) == equal};
  }
  if (!is_symbolic(x) && !is_symbolic(y)) return {holds(relation, real_of(x), real_of(y))};
  const Ratio left = ratio_of(x), right = ratio_of(y);
  return compare_sizes(relation, left.numerator * right.denominator, right.numerator * left.denominator,
                       dimensions);
}

// --- reductions of lists ---

Results sum_of_list(const ValueCall& call) {
  const auto* items = call[0].sequence();
  need(items != nullptr && call.size() == 1);
  const auto kind = call.args.values().type(0).kind;
  AbstractValue sum{SymInt(0)};
  if (kind == ValueType::Kind::kFloat) sum = {0.0};
  if (kind == ValueType::Kind::kComplex) sum = {Complex()};
  for (const AbstractValue& item : *items) {
    // LibTorch removes the elements from a list of complex numbers.
    need(item.get_if<Complex>() == nullptr);
    sum = apply(arithmetic::kSum, sum, item, call.args.dimensions);
    // LibTorch adds integers in 32 bits.
    const SymInt* integer = sum.integer();
    if (const auto number = integer == nullptr ? std::nullopt : integer->number())
      sum = {SymInt(static_cast<std::int32_t>(*number))};
  }
  return {std::move(sum)};
}

namespace {

// Returns the extreme of two numbers by a C++ comparison, which determines the result for NaN and zeros.
AbstractValue extreme_of_two(const AbstractValue& a, const AbstractValue& b, bool largest,
                             const ShapeEnv& dimensions) {
  const Number x = number_of(a), y = number_of(b);
  const BinaryOperation& operation = largest ? arithmetic::kLargest : arithmetic::kLeast;
  if (is_integer(x) && is_integer(y)) {
    const AbstractValue result = apply(operation, a, b, dimensions);
    return a.get_if<bool>() != nullptr && b.get_if<bool>() != nullptr
               ? AbstractValue{result == AbstractValue{SymInt(1)}}
               : result;
  }
  return {(largest ? real_of(x) > real_of(y) : real_of(x) < real_of(y)) ? real_of(x) : real_of(y)};
}

}  // namespace

AbstractValue extreme_of_numbers(const ValueCall& call, bool largest) {
  const ShapeEnv& dimensions = call.args.dimensions;
  if (call.size() == 2) return extreme_of_two(call[0], call[1], largest, dimensions);
  const auto* items = call[0].sequence();
  need(items != nullptr && call.size() == 1);
  if (items->empty()) throw Raises{std::string(largest ? "max" : "min") + "() arg is an empty sequence"};
  AbstractValue best = (*items)[0];
  // The first of equal items wins.
  for (const AbstractValue& item : *items) best = extreme_of_two(item, best, largest, dimensions);
  return best;
}

// --- conversions ---

AbstractValue rounded_number(const UnaryOperation& operation, const ValueCall& call) {
  const Number x = number_of(call[0]);
  const bool is_down = &operation == &arithmetic::kFloor, is_up = &operation == &arithmetic::kCeil;
  if (is_symbolic(x)) {
    need(is_down || is_up);
    const Ratio ratio = ratio_of(x);
    return {is_down ? floordiv(ratio.numerator, ratio.denominator)
                    : ceildiv(ratio.numerator, ratio.denominator)};
  }
  if (is<std::int64_t>(x) && is_up) return {SymInt(std::get<std::int64_t>(x))};
  const double number = operation.reals(real_of(x));
  return is_down || is_up || &operation == &arithmetic::kTrunc ? AbstractValue{SymInt(integer_of(number))}
                                                               : AbstractValue{number};
}

Results logarithm_of_scalar(const ValueCall& call) {
  return {{std::log(real_argument(call, 0)) / std::log(real_argument(call, 1))}};
}

Results ceil_of_scalar(const ValueCall& call) {
  return {{SymInt(integer_of(std::ceil(real_argument(call, 0))))}};
}

// int(x), which rounds towards zero.
Results to_integer(const ValueCall& call) {
  const AbstractValue& value = call[0];
  if (value.tensor() != nullptr) {
    Array array = tensor_array(value);
    need(array.count() == 1);
    return {number_value(cast(std::move(array), ScalarType::kInt64))};
  }
  const Number x = number_of(value);
  if (is_integer(x)) return {{size_of(x)}};
  if (is<double>(x)) return {{SymInt(integer_of(std::trunc(std::get<double>(x))))}};
  const Ratio ratio = ratio_of(x);
  need(call.args.dimensions.decide(Relation::kGreaterEqual, ratio.numerator, 0) == true);
  return {{floordiv(ratio.numerator, ratio.denominator)}};
}
Results integer_of_scalar(const ValueCall& call) {
  const Number x = number_of(call[0]);
  if (is_symbolic(x) || is<std::int64_t>(x)) return to_integer(call);
  if (const auto* complex = std::get_if<Complex>(&x)) {
    if (complex->imag() != 0) throw Raises{"value cannot be converted to type int without overflow"};
    return {{SymInt(narrow(complex->real()))}};
  }
  return {{SymInt(narrow(std::get<double>(x)))}};
}

Results to_float(const ValueCall& call) {
  const AbstractValue& value = call[0];
  if (value.tensor() != nullptr) {
    Array array = tensor_array(value);
    need(array.count() == 1);
    return {number_value(cast(std::move(array), ScalarType::kFloat64))};
  }
  const Number x = number_of(value);
  if (is_symbolic(x)) return {value_of(ratio_of(x))};
  return {{is<Complex>(x) ? std::get<Complex>(x).real() : real_of(x)}};
}

Results to_bool(const ValueCall& call) {
  const AbstractValue& value = call[0];
  if (value.tensor() != nullptr) {
    Array array = tensor_array(value);
    need(array.count() == 1);
    return {number_value(cast(std::move(array), ScalarType::kBool))};
  }
  return {{real_of(number_of(value)) != 0}};
}

// LibTorch reads only the lower half of an int.
Results to_complex(const ValueCall& call) {
  if (call.size() == 1) return {{complex_of(number_of(call[0]))}};
  const auto part = [&](std::size_t i) -> double {
    const Number number = number_of(call[i]);
    const auto* integer = std::get_if<std::int64_t>(&number);
    return integer != nullptr ? lower_half(*integer) : real_of(number);
  };
  return {{Complex(part(0), part(1))}};
}

Results logical_not_of_bool(const ValueCall& call) {
  if (const auto* condition = call[0].get_if<Condition>())
    return {{Condition{negated(condition->relation), condition->left, condition->right}}};
  const auto* flag = call[0].get_if<bool>();
  need(flag != nullptr);
  return {{!*flag}};
}

}  // namespace fxtrace::internal::values
