#include "script/plain_numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace fxtrace::script {
namespace {

using Complex = std::complex<double>;

bool are_both_ints(const Value& a, const Value& b) { return a.is_int() && b.is_int(); }
bool is_real(const Value& value) { return value.is_int() || value.is_double(); }
double real(const Value& value) {
  if (value.is_int()) return static_cast<double>(value.to_int());
  if (value.is_double()) return value.to_double();
  not_supported("a value is no real number");
}
Complex complex(const Value& value) {
  return value.is_complex() ? value.to_complex() : Complex(real(value), 0);
}

// --- arithmetic; a real number leaves the imaginary part of a complex one alone, be it -0 ---

Value add_numbers(const Value& a, const Value& b) {
  if (are_both_ints(a, b)) return wrapped(bits(a.to_int()) + bits(b.to_int()));
  if (is_real(a) && is_real(b)) return real(a) + real(b);
  const Complex x = complex(a), y = complex(b);
  if (!b.is_complex()) return Complex(x.real() + y.real(), x.imag());
  if (!a.is_complex()) return Complex(x.real() + y.real(), y.imag());
  return Complex(x.real() + y.real(), x.imag() + y.imag());
}

Value subtract(Arguments arguments) {
  const Value &a = argument(arguments, 0), &b = argument(arguments, 1);
  if (are_both_ints(a, b)) return wrapped(bits(a.to_int()) - bits(b.to_int()));
  if (is_real(a) && is_real(b)) return real(a) - real(b);
  const Complex x = complex(a), y = complex(b);
  if (!b.is_complex()) return Complex(x.real() - y.real(), x.imag());
  if (!a.is_complex()) return Complex(-y.real() + x.real(), -y.imag());
  return Complex(x.real() - y.real(), x.imag() - y.imag());
}

Value multiply_numbers(const Value& a, const Value& b) {
  if (are_both_ints(a, b)) return wrapped(bits(a.to_int()) * bits(b.to_int()));
  if (is_real(a) && is_real(b)) return real(a) * real(b);
  const Complex x = complex(a), y = complex(b);
  if (!b.is_complex()) return Complex(x.real() * y.real(), x.imag() * y.real());
  if (!a.is_complex()) return Complex(y.real() * x.real(), y.imag() * x.real());
  return Complex(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
}

Value divide(Arguments arguments) { return real(argument(arguments, 0)) / real(argument(arguments, 1)); }
Value divide_complex(Arguments arguments) {
  return complex_quotient(complex(argument(arguments, 0)), complex(argument(arguments, 1)));
}

// The divisor is neither 0 nor, for the least number, -1: plain_checks.cpp sees to it.
std::int64_t floored(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value floor_divide(Arguments arguments) {
  const Value &a = argument(arguments, 0), &b = argument(arguments, 1);
  if (are_both_ints(a, b)) return floored(a.to_int(), b.to_int());
  return std::floor(real(a) / real(b));
}

Value round_to_zero_divide(Arguments arguments) {
  return int_argument(arguments, 0) / int_argument(arguments, 1);
}

Value remainder(Arguments arguments) {
  const Value &a = argument(arguments, 0), &b = argument(arguments, 1);
  if (are_both_ints(a, b)) {
    const std::int64_t divisor = b.to_int();
    if (divisor == -1) return 0;  // the rest of the least number by -1 is a trap
    const std::int64_t sum = wrapped(bits(divisor) + bits(a.to_int() % divisor));
    return sum % divisor;
  }
  return std::fmod(real(b) + std::fmod(real(a), real(b)), real(b));
}

Value math_fmod(Arguments arguments) {
  return std::fmod(real(argument(arguments, 0)), real(argument(arguments, 1)));
}
Value math_remainder(Arguments arguments) {
  return std::remainder(real(argument(arguments, 0)), real(argument(arguments, 1)));
}

void divmod(Arguments arguments, Results& results) {
  const Value &a = argument(arguments, 0), &b = argument(arguments, 1);
  if (are_both_ints(a, b)) {
    const std::int64_t quotient = floored(a.to_int(), b.to_int());
    results.emplace_back(quotient);
    results.emplace_back(wrapped(bits(a.to_int()) - bits(quotient) * bits(b.to_int())));
    return;
  }
  const double x = real(a), y = real(b);
  if (a.is_double() && b.is_double()) {
    if (y == 0) throw Raised("ZeroDivisionError: float divmod()");
    double rest = std::fmod(x, y);
    if (rest != 0 && (x < 0) != (y < 0)) rest += y;
    results.emplace_back((x - rest) / y);
    results.emplace_back(rest);
    return;
  }
  // LibTorch makes numbers of 32 bits of an int and a float.
  const float dividend = a.is_int() ? static_cast<float>(narrowed(a.to_int())) : static_cast<float>(x);
  const float divisor = b.is_int() ? static_cast<float>(narrowed(b.to_int())) : static_cast<float>(y);
  if (divisor == 0) throw Raised("ZeroDivisionError: float divmod()");
  const double floored_quotient = std::floor(dividend / divisor);
  if (!std::isfinite(floored_quotient))
    throw Raised("Cannot convert float " + std::to_string(double{dividend / divisor}) + " to integer");
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (floored_quotient >= kLimit || floored_quotient < -kLimit) not_supported("a quotient is beyond 64 bits");
  const double quotient = floored_quotient + 0.0;  // that of an integer, which has no -0
  const double whole = a.is_int() ? narrowed(a.to_int()) : static_cast<double>(dividend);
  const double part = b.is_int() ? narrowed(b.to_int()) : static_cast<double>(divisor);
  results.emplace_back(quotient);
  results.emplace_back(whole - quotient * part);
}

// std::pow of complex numbers and real ones, which asserts in std::polar that a length is no NaN.
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

Value power(Arguments arguments) {
  const Value &a = argument(arguments, 0), &b = argument(arguments, 1);
  if (is_real(a) && is_real(b)) {
    if (real(a) == 0 && real(b) < 0) throw Raised("0.0 cannot be raised to a negative power");
    return std::pow(real(a), real(b));
  }
  if (a.is_complex() && b.is_complex()) return std::pow(a.to_complex(), b.to_complex());
  if (b.is_complex()) return power_of(real(a), b.to_complex());
  if (!a.is_complex()) not_supported("a value is no number");
  return power_of(a.to_complex(), real(b));
}

Value power_of_scalars(Arguments arguments) {
  return std::pow(real(argument(arguments, 0)), real(argument(arguments, 1)));
}

// By way of a float, as LibTorch does it: plain_checks.cpp refuses what does not fit.
Value integer_power(Arguments arguments) {
  const double power = std::pow(float_argument(arguments, 0), float_argument(arguments, 1));
  return static_cast<std::int64_t>(power);
}

Value negate(Arguments arguments) {
  const Value& a = argument(arguments, 0);
  if (a.is_int()) return wrapped(0 - bits(a.to_int()));
  return a.is_complex() ? Value(-a.to_complex()) : Value(-real(a));
}

Value absolute(Arguments arguments) {
  const Value& a = argument(arguments, 0);
  if (a.is_int()) return a.to_int() < 0 ? wrapped(0 - bits(a.to_int())) : a.to_int();
  return a.is_complex() ? std::abs(a.to_complex()) : std::abs(real(a));
}

Value gcd(Arguments arguments) {
  std::int64_t a = int_argument(arguments, 0), b = int_argument(arguments, 1);
  while (b != 0) {
    if (b == -1) return 1;
    a = std::exchange(b, a % b);
  }
  return a < 0 ? wrapped(0 - bits(a)) : a;
}

// Of at most 20: plain_checks.cpp sees to it.  LibTorch looks at the lower half of the number only.
Value factorial(Arguments arguments) {
  constexpr std::int64_t kLargest = 20;
  const std::int64_t number = narrowed(int_argument(arguments, 0));
  if (number < 0) throw Raised("factorial() not defined for negative values");
  if (number > kLargest) not_supported("a factorial has more than 64 bits");
  std::int64_t product = 1;
  for (std::int64_t i = 2; i <= number; ++i) product *= i;
  return product;
}

// --- bits ---

template <class Bool, class Int>
Value bitwise(Arguments arguments, Bool of_bools, Int of_ints) {
  const Value& a = argument(arguments, 0);
  if (a.is_bool()) return static_cast<bool>(of_bools(a.to_bool(), bool_argument(arguments, 1)));
  return of_ints(int_argument(arguments, 0), int_argument(arguments, 1));
}
Value bit_and(Arguments arguments) { return bitwise(arguments, std::logical_and<>{}, std::bit_and<>{}); }
Value bit_or(Arguments arguments) { return bitwise(arguments, std::logical_or<>{}, std::bit_or<>{}); }
Value bit_xor(Arguments arguments) { return bitwise(arguments, std::not_equal_to<>{}, std::bit_xor<>{}); }
Value logical_not(Arguments arguments) { return !bool_argument(arguments, 0); }
// By 0 to 63: plain_checks.cpp sees to it.
Value shift_left(Arguments arguments) {
  return wrapped(bits(int_argument(arguments, 0)) << bits(int_argument(arguments, 1)));
}
Value shift_right(Arguments arguments) { return int_argument(arguments, 0) >> int_argument(arguments, 1); }

// --- comparisons ---

Value are_equal(Arguments arguments) {
  const Value &a = argument(arguments, 0), &b = argument(arguments, 1);
  if (are_both_ints(a, b)) return a.to_int() == b.to_int();
  if (is_real(a) && is_real(b)) return real(a) == real(b);
  if (a.is_scalar() && b.is_scalar() && (a.kind() != b.kind() || a.is_bool())) {
    // LibTorch gives nothing at all for an int and a complex number, and knows no bools here.
    if (!a.is_double() && !b.is_double())
      not_supported("numbers are compared that LibTorch does not compare");
    return complex(a) == complex(b);
  }
  return equal(a, b);
}
Value are_equal_bools(Arguments arguments) {
  return bool_argument(arguments, 0) == bool_argument(arguments, 1);
}
Value are_unequal_bools(Arguments arguments) {
  return bool_argument(arguments, 0) != bool_argument(arguments, 1);
}
Value are_unequal(Arguments arguments) { return !are_equal(arguments).to_bool(); }

template <class Compare>
Value ordered(Arguments arguments, Compare compare) {
  const Value &a = argument(arguments, 0), &b = argument(arguments, 1);
  if (are_both_ints(a, b)) return compare(a.to_int(), b.to_int());
  if (a.is_string() && b.is_string()) return compare(a.to_string().compare(b.to_string()), 0);
  return compare(real(a), real(b));
}
Value less(Arguments arguments) { return ordered(arguments, std::less<>{}); }
Value less_equal(Arguments arguments) { return ordered(arguments, std::less_equal<>{}); }
Value greater(Arguments arguments) { return ordered(arguments, std::greater<>{}); }
Value greater_equal(Arguments arguments) { return ordered(arguments, std::greater_equal<>{}); }

// --- the least and the largest, of two numbers, two lists, or the elements of one list ---

bool is_less(const Value& a, const Value& b) {
  if (a.is_bool() && b.is_bool()) return static_cast<int>(a.to_bool()) < static_cast<int>(b.to_bool());
  if (are_both_ints(a, b)) return a.to_int() < b.to_int();
  return real(a) < real(b);
}

Value of_elements(const std::vector<Value>& items, bool largest) {
  if (items.empty()) throw Raised(std::string(largest ? "max" : "min") + "() arg is an empty sequence");
  const Value* best = items.data();
  for (const Value& item : items) {
    if (largest ? is_less(*best, item) : is_less(item, *best)) best = &item;
  }
  return *best;
}

Value of_lists(const Value& a, const Value& b, bool largest) {
  const auto &x = a.items(), &y = b.items();
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (equal(x[i], y[i])) continue;
    const bool first = largest ? is_less(y[i], x[i]) : is_less(x[i], y[i]);
    return first ? a : b;
  }
  const bool first = largest ? x.size() > y.size() : x.size() < y.size();
  return first ? a : b;
}

Value extreme(Arguments arguments, bool largest) {
  const Value& a = argument(arguments, 0);
  if (arguments.size() == 1) return of_elements(list_argument(arguments, 0).items, largest);
  const Value& b = argument(arguments, 1);
  if (a.is_list() && b.is_list()) return of_lists(a, b, largest);
  if (are_both_ints(a, b))
    return largest ? std::max(a.to_int(), b.to_int()) : std::min(a.to_int(), b.to_int());
  const double x = real(a), y = real(b);
  const bool first = largest ? x > y : x < y;
  return first ? x : y;
}
Value least(Arguments arguments) { return extreme(arguments, false); }
Value largest(Arguments arguments) { return extreme(arguments, true); }

// --- of all elements of a list ---

bool is_true(const Value& value) {
  if (value.is_bool()) return value.to_bool();
  if (value.is_int()) return value.to_int() != 0;
  if (value.is_string()) return !value.to_string().empty();
  return real(value) != 0;
}

Value sum(Arguments arguments) {
  const ListValue& list = list_argument(arguments, 0);
  const TypeKind kind = list.element_type->kind();
  std::uint64_t integer = 0;
  double number = 0;
  Complex both = 0;
  for (const Value& item : list.items) {
    if (item.is_bool())
      integer += item.to_bool() ? 1 : 0;
    else if (item.is_int())
      integer += bits(item.to_int());
    else if (item.is_double())
      number += item.to_double();
    else
      both = Complex(both.real() + complex(item).real(), both.imag() + complex(item).imag());
  }
  // LibTorch takes the elements out of the list.
  if (!list.items.empty() && kind == TypeKind::kComplex)
    not_supported("a list of complex numbers loses them");
  if (kind == TypeKind::kFloat) return number;
  return kind == TypeKind::kComplex ? Value(both) : Value(wrapped(integer));
}
Value any(Arguments arguments) { return std::ranges::any_of(list_argument(arguments, 0).items, is_true); }
Value all(Arguments arguments) { return std::ranges::all_of(list_argument(arguments, 0).items, is_true); }

// --- one kind of number of another ---

// As LibTorch's Scalar makes an int of it, of 32 bits.
std::int64_t narrow(double number) {
  if (std::isnan(number) || number < std::numeric_limits<int>::min() ||
      number > std::numeric_limits<int>::max())
    throw Raised("value cannot be converted to type int without overflow");
  return static_cast<int>(number);
}

Value to_integer(Arguments arguments) {
  const Value& a = argument(arguments, 0);
  if (a.is_bool()) return a.to_bool() ? 1 : 0;
  if (a.is_double()) return static_cast<std::int64_t>(a.to_double());  // it fits: plain_checks.cpp
  return int_argument(arguments, 0);
}

Value scalar_to_integer(Arguments arguments) {
  const Value& a = argument(arguments, 0);
  if (a.is_int()) return a;
  if (a.is_bool()) return a.to_bool() ? 1 : 0;
  if (!a.is_complex()) return narrow(float_argument(arguments, 0));
  if (a.to_complex().imag() != 0) throw Raised("value cannot be converted to type int without overflow");
  return narrow(a.to_complex().real());
}

// strtoll and strtod, for they are what LibTorch calls: they skip blanks, and take what is hexadecimal.
Value text_to_integer(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  const auto wrong = [&] { return Raised("invalid literal for int() with base 10: '" + text + "'"); };
  char* end = nullptr;
  errno = 0;
  constexpr int kDecimal = 10;
  const std::int64_t number = std::strtoll(text.c_str(), &end, kDecimal);
  if (end == text.c_str() || errno == ERANGE) throw Raised("stoll");
  if (end != text.c_str() + text.size()) throw wrong();
  return number;
}

Value text_to_float(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || errno == ERANGE) throw Raised("stod");
  if (end != text.c_str() + text.size()) throw Raised("could not convert string to float: '" + text + "'");
  return number;
}

Value to_float(Arguments arguments) {
  const Value& a = argument(arguments, 0);
  return a.is_bool() ? (a.to_bool() ? 1.0 : 0.0) : real(a);
}
Value scalar_to_float(Arguments arguments) {
  const Value& a = argument(arguments, 0);
  return a.is_complex() ? a.to_complex().real() : real(a);
}

Value to_bool(Arguments arguments) { return is_true(argument(arguments, 0)); }

// LibTorch looks at the lower half of an int only.
Value make_complex(Arguments arguments) {
  const auto part = [&](std::size_t i) -> double {
    const Value& value = argument(arguments, i);
    if (value.is_bool()) return value.to_bool() ? 1 : 0;
    return value.is_int() ? narrowed(value.to_int()) : real(value);
  };
  return Complex(part(0), part(1));
}
Value scalar_to_complex(Arguments arguments) {
  const Value& value = argument(arguments, 0);
  return value.is_complex() ? value : Value(Complex(real(value), 0));
}

Value range_length(Arguments arguments) {
  const std::int64_t from = int_argument(arguments, 0), to = int_argument(arguments, 1);
  const std::int64_t step = int_argument(arguments, 2);  // not 0, and no overflow: plain_checks.cpp
  if (step > 0 && from < to) return 1 + (to - 1 - from) / step;
  if (step < 0 && from > to) return 1 + (from - 1 - to) / (0 - step);
  return 0;
}
Value derive_index(Arguments arguments) {
  const std::uint64_t way = bits(int_argument(arguments, 0)) * bits(int_argument(arguments, 2));
  return wrapped(bits(int_argument(arguments, 1)) + way);
}

constexpr PlainRow kNumberOperators[] = {
    {"aten::sub", gives<subtract>},
    {"aten::div", gives<divide>},
    {"aten::div.complex", gives<divide_complex>},
    {"aten::floordiv", gives<floor_divide>},
    {"aten::__round_to_zero_floordiv", gives<round_to_zero_divide>},
    {"aten::remainder", gives<remainder>},
    {"aten::fmod", gives<math_fmod>},
    {"aten::mathremainder", gives<math_remainder>},
    {"aten::divmod", divmod},
    {"aten::pow", gives<power>},
    {"aten::pow.Scalar_Scalar", gives<power_of_scalars>},
    {"aten::pow.int_to_int", gives<integer_power>},
    {"aten::neg", gives<negate>, "aten::neg.Scalar"},
    {"prim::abs", gives<absolute>, "prim::abs.Scalar"},
    {"aten::gcd", gives<gcd>},
    {"aten::factorial", gives<factorial>},
    {"aten::__and__", gives<bit_and>},
    {"aten::__or__", gives<bit_or>},
    {"aten::__xor__", gives<bit_xor>},
    {"aten::__not__", gives<logical_not>},
    {"aten::__lshift__", gives<shift_left>},
    {"aten::__rshift__", gives<shift_right>},
    {"aten::eq", gives<are_equal>},
    {"aten::eq.bool", gives<are_equal_bools>},
    {"aten::ne", gives<are_unequal>},
    {"aten::ne.bool", gives<are_unequal_bools>},
    {"aten::lt", gives<less>},
    {"aten::le", gives<less_equal>},
    {"aten::gt", gives<greater>},
    {"aten::ge", gives<greater_equal>},
    {"prim::min", gives<least>},
    {"prim::max", gives<largest>},
    {"aten::sum", gives<sum>},
    {"aten::any", gives<any>},
    {"aten::all", gives<all>},
    {"aten::Int", gives<to_integer>},
    {"aten::Int.Scalar", gives<scalar_to_integer>},
    {"aten::Int.str", gives<text_to_integer>},
    {"aten::Float", gives<to_float>},
    {"aten::Float.Scalar", gives<scalar_to_float>},
    {"aten::Float.str", gives<text_to_float>},
    {"aten::Bool", gives<to_bool>},
    {"aten::Complex", gives<make_complex>},
    {"aten::Complex.Scalar", gives<scalar_to_complex>},
    {"aten::__range_length", gives<range_length>},
    {"aten::__derive_index", gives<derive_index>},
};

}  // namespace

PlainTable number_operators() { return kNumberOperators; }

std::complex<double> complex_quotient(std::complex<double> x, std::complex<double> y) {
  const double a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  if (std::abs(c) >= std::abs(d)) {
    if (c == 0 && d == 0) return {a / std::abs(c), b / std::abs(d)};
    const double ratio = d / c;
    const double scale = 1.0 / (c + d * ratio);
    return {(a + b * ratio) * scale, (b - a * ratio) * scale};
  }
  const double ratio = c / d;
  const double scale = 1.0 / (d + c * ratio);
  return {(a * ratio + b) * scale, (b * ratio - a) * scale};
}

Value sum_of(const Value& a, const Value& b) { return add_numbers(a, b); }
Value product_of(const Value& a, const Value& b) { return multiply_numbers(a, b); }

}  // namespace fxtrace::script
