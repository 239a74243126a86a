#include "script/plain_call.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>

#include "script/plain_numbers.h"

namespace fxtrace::script {
namespace {

using Complex = std::complex<double>;

// Of a complex number the second function, where there is one.  No null pointer stands for none: g++ 12 does
// not compare functions in a constant expression under its sanitizers.
template <double (*Real)(double), Complex (*... Imaginary)(const Complex&)>
Value value_of(Arguments arguments) {
  if constexpr (sizeof...(Imaginary) > 0) {
    if (argument(arguments, 0).is_complex()) return (Imaginary(arguments[0].to_complex()), ...);
  }
  return Real(float_argument(arguments, 0));
}

template <double (*Real)(double), Complex (*... Imaginary)(const Complex&)>
void function(Arguments arguments, Results& results) {
  results.push_back(value_of<Real, Imaginary...>(arguments));
}

template <bool (*Real)(double), bool Every>
void question(Arguments arguments, Results& results) {
  const Value& value = argument(arguments, 0);
  if (value.is_complex()) {
    const bool a = Real(value.to_complex().real()), b = Real(value.to_complex().imag());
    results.emplace_back(Every ? a && b : a || b);
  } else {
    results.emplace_back(Real(float_argument(arguments, 0)));
  }
}

double degrees(double x) { return x * (180.0 / std::acos(-1.0)); }
double radians(double x) { return x * (std::acos(-1.0) / 180.0); }

// To the nearest integer, from the middle to the even one.
double round_to_even(double x) {
  return x - std::floor(x) == 0.5 ? std::round(x * 0.5) * 2.0 : std::round(x);
}

bool is_finite(double x) { return std::isfinite(x); }
bool is_infinite(double x) { return std::isinf(x); }
bool is_nan(double x) { return std::isnan(x); }

// Of a float that fits; plain_checks.cpp sees to it.
Value integer_of(double whole) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!(whole >= -kLimit && whole < kLimit)) not_supported("an integer is beyond 64 bits");
  return static_cast<std::int64_t>(whole);
}
Value floor(Arguments arguments) { return integer_of(std::floor(float_argument(arguments, 0))); }
Value scalar_ceil(Arguments arguments) { return integer_of(std::ceil(float_argument(arguments, 0))); }
Value ceil(Arguments arguments) {
  const Value& value = argument(arguments, 0);
  return value.is_int() ? value : Value(static_cast<std::int64_t>(std::ceil(float_argument(arguments, 0))));
}

Value angle(Arguments arguments) {
  const Value& value = argument(arguments, 0);
  return value.is_complex() ? std::arg(value.to_complex()) : std::arg(float_argument(arguments, 0));
}

Value atan2(Arguments arguments) {
  return std::atan2(float_argument(arguments, 0), float_argument(arguments, 1));
}
Value copysign(Arguments arguments) {
  return std::copysign(float_argument(arguments, 0), float_argument(arguments, 1));
}

Value polar(Arguments arguments) {
  const double length = float_argument(arguments, 0), theta = float_argument(arguments, 1);
  return Complex(length * std::cos(theta), length * std::sin(theta));
}

void frexp(Arguments arguments, Results& results) {
  int exponent = 0;
  results.emplace_back(std::frexp(float_argument(arguments, 0), &exponent));
  results.emplace_back(std::int64_t{exponent});
}

// The exponent loses its upper half, as in LibTorch.
Value ldexp(Arguments arguments) {
  return std::ldexp(float_argument(arguments, 0), static_cast<std::int32_t>(int_argument(arguments, 1)));
}

void modf(Arguments arguments, Results& results) {
  double whole = 0;
  results.emplace_back(std::modf(float_argument(arguments, 0), &whole));
  results.emplace_back(whole);
}

Complex log_of(const Value& value) { return std::log(value.to_complex()); }
double log_of(double value) { return std::log(value); }

Value log_of_scalars(Arguments arguments) {
  return log_of(float_argument(arguments, 0)) / log_of(float_argument(arguments, 1));
}

Value log(Arguments arguments) {
  const Value& value = argument(arguments, 0);
  if (arguments.size() == 1) {
    return value.is_complex() ? Value(log_of(value)) : Value(log_of(float_argument(arguments, 0)));
  }
  const Value& base = argument(arguments, 1);
  if (!value.is_complex() && !base.is_complex()) {
    return log_of(float_argument(arguments, 0)) / log_of(float_argument(arguments, 1));
  }
  if (!base.is_complex()) {
    const double divisor = log_of(float_argument(arguments, 1));
    const Complex dividend = log_of(value);
    return Complex(dividend.real() / divisor, dividend.imag() / divisor);
  }
  const Complex dividend =
      value.is_complex() ? log_of(value) : Complex(log_of(float_argument(arguments, 0)), 0);
  return complex_quotient(dividend, log_of(base));
}

constexpr PlainRow kMathOperators[] = {
    {"aten::acos", function<std::acos, std::acos>, "aten::acos.Scalar"},
    {"aten::acosh", function<std::acosh, std::acosh>, "aten::acosh.Scalar"},
    {"aten::angle", gives<angle>, "aten::angle.Scalar"},
    {"aten::asin", function<std::asin, std::asin>, "aten::asin.Scalar"},
    {"aten::asinh", function<std::asinh, std::asinh>, "aten::asinh.Scalar"},
    {"aten::atan", function<std::atan, std::atan>, "aten::atan.Scalar"},
    {"aten::atan2", gives<atan2>},
    {"aten::atanh", function<std::atanh, std::atanh>, "aten::atanh.Scalar"},
    {"aten::ceil", gives<ceil>},
    {"", gives<scalar_ceil>, "aten::ceil.Scalar"},
    {"aten::copysign", gives<copysign>},
    {"aten::cos", function<std::cos, std::cos>, "aten::cos.Scalar"},
    {"aten::cosh", function<std::cosh, std::cosh>, "aten::cosh.Scalar"},
    {"aten::degrees", function<degrees>, "aten::degrees.Scalar"},
    {"aten::erf", function<std::erf>, "aten::erf.Scalar"},
    {"aten::erfc", function<std::erfc>, "aten::erfc.Scalar"},
    {"aten::exp", function<std::exp, std::exp>, "aten::exp.Scalar"},
    {"aten::expm1", function<std::expm1>, "aten::expm1.Scalar"},
    {"aten::fabs", function<std::fabs>, "aten::fabs.Scalar"},
    {"aten::floor", gives<floor>, "aten::floor.Scalar"},
    {"aten::frexp", frexp},
    {"aten::gamma", function<std::tgamma>, "aten::gamma.Scalar"},
    {"aten::isfinite", question<is_finite, true>},
    {"aten::isinf", question<is_infinite, false>},
    {"aten::isnan", question<is_nan, false>},
    {"aten::ldexp", gives<ldexp>},
    {"aten::lgamma", function<std::lgamma>, "aten::lgamma.Scalar"},
    {"aten::log", gives<log>, "aten::log.Scalar"},
    {"aten::log.Scalar_Scalar", gives<log_of_scalars>},
    {"aten::log10", function<std::log10, std::log10>, "aten::log10.Scalar"},
    {"aten::log1p", function<std::log1p>, "aten::log1p.Scalar"},
    {"aten::modf", modf},
    {"aten::polar", gives<polar>},
    {"aten::radians", function<radians>, "aten::radians.Scalar"},
    {"aten::round", function<round_to_even>, "aten::round.Scalar"},
    {"aten::sin", function<std::sin, std::sin>, "aten::sin.Scalar"},
    {"aten::sinh", function<std::sinh, std::sinh>, "aten::sinh.Scalar"},
    {"aten::sqrt", function<std::sqrt, std::sqrt>, "aten::sqrt.Scalar"},
    {"aten::tan", function<std::tan, std::tan>, "aten::tan.Scalar"},
    {"aten::tanh", function<std::tanh, std::tanh>, "aten::tanh.Scalar"},
};

}  // namespace

PlainTable math_operators() { return kMathOperators; }

}  // namespace fxtrace::script
