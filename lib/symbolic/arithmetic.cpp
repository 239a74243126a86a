#include "symbolic/arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <type_traits>

#include "symbolic/interval.h"

namespace fxtrace::internal::arithmetic {
namespace {

using Integer = std::int64_t;

[[noreturn]] void no_result(const char* why) { throw SymbolicError(why); }

// --- rows from functors: a functor has an overload for each kind of number that the operator takes ---

template <class Operator, class T, class Other = T, class Result = T>
Result apply_two(const T& a, const Other& b) {
  return Operator{}(a, b);
}
template <class Operator, class T>
T apply_one(const T& a) {
  return Operator{}(a);
}

template <class Operator, class T, class Other = T, class Result = T>
constexpr auto two() -> Result (*)(const T&, const Other&) {
  if constexpr (requires(const T& a, const Other& b) {
                  { Operator{}(a, b) } -> std::same_as<Result>;
                })
    return &apply_two<Operator, T, Other, Result>;
  return nullptr;
}
template <class Operator, class T>
constexpr OfOne<T> one() {
  if constexpr (requires(const T& a) {
                  { Operator{}(a) } -> std::same_as<T>;
                })
    return &apply_one<Operator, T>;
  return nullptr;
}

template <class Operator>
constexpr BinaryOperation binary() {
  return {{two<Operator, Integer>(), two<Operator, SymInt>(), two<Operator, float>(), two<Operator, double>(),
           two<Operator, Complex>()},
          two<Operator, Complex, double>(),
          two<Operator, double, Complex, Complex>()};
}
template <class Operator>
constexpr UnaryOperation unary() {
  return {one<Operator, Integer>(), one<Operator, SymInt>(), one<Operator, float>(), one<Operator, double>(),
          one<Operator, Complex>()};
}

template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Machine = std::floating_point<T> || std::same_as<T, Integer>;

// --- sums and products ---

struct Sum {
  Integer operator()(Integer a, Integer b) const { return wrapped(bits(a) + bits(b)); }
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    return a + b;
  }
};

struct Difference {
  Integer operator()(Integer a, Integer b) const { return wrapped(bits(a) - bits(b)); }
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    return a - b;
  }
};

struct ReversedDifference {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return Difference{}(b, a);
  }
};

struct Product {
  Integer operator()(Integer a, Integer b) const { return wrapped(bits(a) * bits(b)); }
  // Multiplies by the formula alone: C++ would repair results with infinite parts.
  Complex operator()(const Complex& a, const Complex& b) const {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    return a * b;
  }
};

// --- quotients and remainders ---

void check_division(Integer a, Integer b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<Integer>::min()))
    no_result("the divisor is zero, or the quotient does not fit into 64 bits");
}

struct Quotient {
  template <Real T>
  T operator()(T a, T b) const {
    return a / b;
  }
  Complex operator()(const Complex& a, const Complex& b) const { return complex_quotient(a, b); }
};

struct FloorQuotient {
  Integer operator()(Integer a, Integer b) const { return symbolic::floor_divide(a, b); }
  SymInt operator()(const SymInt& a, const SymInt& b) const { return floordiv(a, b); }
  // Follows the steps by which Python divides floats.
  template <Real T>
  T operator()(T a, T b) const {
    if (b == 0) return a / b;
    const T rest = std::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(T{0}, a / b);
    T floored = std::floor(quotient);
    if (quotient - floored > T{0.5}) floored += 1;
    return floored;
  }
};

struct TruncatedQuotient {
  Integer operator()(Integer a, Integer b) const {
    check_division(a, b);
    return a / b;
  }
  SymInt operator()(const SymInt& a, const SymInt& b) const {
    if (b.number().value_or(0) <= 0) no_result("the divisor may be negative");
    return max(floordiv(a, b), 0) + min(ceildiv(a, b), 0);
  }
  template <Real T>
  T operator()(T a, T b) const {
    return std::trunc(a / b);
  }
};

struct TruncatedRemainder {
  Integer operator()(Integer a, Integer b) const {
    check_division(a, b);
    return a % b;
  }
  SymInt operator()(const SymInt& a, const SymInt& b) const { return a - b * TruncatedQuotient{}(a, b); }
  template <Real T>
  T operator()(T a, T b) const {
    return std::fmod(a, b);
  }
};

struct Remainder {
  SymInt operator()(const SymInt& a, const SymInt& b) const { return mod(a, b); }
  template <Machine T>
  T operator()(T a, T b) const {
    const T rest = TruncatedRemainder{}(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};

// --- powers ---

struct Power {
  Integer operator()(Integer base, Integer exponent) const {
    if (exponent < 0) {
      if (base == 1) return 1;
      return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    }
    std::uint64_t result = 1, factor = bits(base);
    for (auto rest = bits(exponent); rest != 0; rest >>= 1U, factor *= factor) {
      if ((rest & 1U) != 0) result *= factor;
    }
    return wrapped(result);
  }
  SymInt operator()(const SymInt& base, const SymInt& exponent) const {
    constexpr Integer kMost = 64;
    const auto times = exponent.number(), number = base.number();
    const bool is_small = number && *number >= -1 && *number <= 1;
    if (!times || *times < 0 || (*times > kMost && !is_small))
      no_result("the exponent is not a small number");
    if (is_small) return Power{}(*number, *times);
    SymInt result = 1;
    for (Integer i = 0; i < *times; ++i) result = result * base;
    return result;
  }
};

// Torch leaves roots to the processor or to a library, which differ in the last bit.  Roots that the type
// represents exactly are the same everywhere.
struct Root {
  template <Real T>
  T operator()(T a) const {
    const T root = std::sqrt(a);
    const long double square = static_cast<long double>(root) * root;
    if (std::isfinite(a) && square != static_cast<long double>(a)) no_result("the root is rounded");
    return root;
  }
};

struct ReciprocalRoot {
  template <Real T>
  T operator()(T a) const {
    const T root = Root{}(a);
    int exponent = 0;
    const bool is_power_of_two = std::isfinite(a) && a > 0 && std::frexp(root, &exponent) == T{0.5};
    if (!is_power_of_two) no_result("the root is rounded");
    return 1 / root;
  }
};

// --- the least and the largest ---

template <class Before>
struct Extreme {
  Integer operator()(Integer a, Integer b) const { return Before{}(b, a) ? b : a; }
  SymInt operator()(const SymInt& a, const SymInt& b) const {
    return std::is_same_v<Before, std::less<>> ? min(a, b) : max(a, b);
  }
  template <Real T>
  T operator()(T a, T b) const {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == 0 && b == 0 && std::signbit(a) != std::signbit(b))
      no_result("the result is a zero of either sign");
    return Before{}(b, a) ? b : a;
  }
};

// --- bits ---

constexpr Integer kBits = 64;
void check_shift(Integer by) {
  if (by < 0 || by >= kBits) no_result("the number of bits to shift by is not in 0..63");
}

struct LeftShift {
  Integer operator()(Integer a, Integer by) const {
    check_shift(by);
    return wrapped(bits(a) << bits(by));
  }
  SymInt operator()(const SymInt& a, const SymInt& by) const {
    const auto number = a.number(), places = by.number();
    if (!number || !places) return a * Power{}(SymInt(2), by);
    if (number == 0 && *places >= 0) return 0;
    const Integer shifted = LeftShift{}(*number, *places);
    if (shifted >> *places != *number) no_result("the result does not fit into 64 bits");
    return shifted;
  }
};
struct RightShift {
  Integer operator()(Integer a, Integer by) const {
    check_shift(by);
    return a >> by;
  }
  SymInt operator()(const SymInt& a, const SymInt& by) const {
    const auto number = a.number(), places = by.number();
    if (!number || !places) return floordiv(a, Power{}(SymInt(2), by));
    return RightShift{}(*number, std::min<Integer>(*places, kBits - 1));
  }
};

template <class Operator>
struct Bits {
  Integer operator()(Integer a, Integer b) const { return Operator{}(a, b); }
};

struct CopySign {
  template <Real T>
  T operator()(T a, T b) const {
    return std::copysign(a, b);
  }
};

// --- of one number ---

struct Negative {
  Integer operator()(Integer a) const { return wrapped(0 - bits(a)); }
  template <class T>
  T operator()(const T& a) const {
    return -a;
  }
};

struct Magnitude {
  Integer operator()(Integer a) const { return a < 0 ? Negative{}(a) : a; }
  SymInt operator()(const SymInt& a) const { return max(a, -a); }
  template <Real T>
  T operator()(T a) const {
    return std::abs(a);
  }
};

struct Sign {
  template <Machine T>
  T operator()(T a) const {
    return static_cast<T>((T{0} < a) - (a < T{0}));
  }
};

struct Square {
  template <class T>
  T operator()(const T& a) const {
    return Product{}(a, a);
  }
};

// Rounding, which leaves integers as they are.
template <double (*OfDouble)(double), float (*OfFloat)(float)>
struct Rounding {
  Integer operator()(Integer a) const { return a; }
  SymInt operator()(const SymInt& a) const { return a; }
  float operator()(float a) const { return OfFloat(a); }
  double operator()(double a) const { return OfDouble(a); }
};

struct Fraction {
  template <Real T>
  T operator()(T a) const {
    return a - std::trunc(a);
  }
};

struct Reciprocal {
  template <Real T>
  T operator()(T a) const {
    return 1 / a;
  }
};

}  // namespace

constexpr BinaryOperation kSum = binary<Sum>(), kDifference = binary<Difference>(),
                          kReversedDifference = binary<ReversedDifference>(), kProduct = binary<Product>(),
                          kQuotient = binary<Quotient>(), kFloorQuotient = binary<FloorQuotient>(),
                          kTruncatedQuotient = binary<TruncatedQuotient>(), kRemainder = binary<Remainder>(),
                          kTruncatedRemainder = binary<TruncatedRemainder>(), kPower = binary<Power>(),
                          kLeast = binary<Extreme<std::less<>>>(),
                          kLargest = binary<Extreme<std::greater<>>>(), kLeftShift = binary<LeftShift>(),
                          kRightShift = binary<RightShift>(), kBitAnd = binary<Bits<std::bit_and<>>>(),
                          kBitOr = binary<Bits<std::bit_or<>>>(), kBitXor = binary<Bits<std::bit_xor<>>>(),
                          kCopySign = binary<CopySign>();

constexpr UnaryOperation kNegative = unary<Negative>(), kMagnitude = unary<Magnitude>(),
                         kSign = unary<Sign>(), kSquare = unary<Square>(),
                         kFloor = unary<Rounding<std::floor, std::floor>>(),
                         kCeil = unary<Rounding<std::ceil, std::ceil>>(),
                         kTrunc = unary<Rounding<std::trunc, std::trunc>>(),
                         kRound = unary<Rounding<std::nearbyint, std::nearbyint>>(),
                         kFraction = unary<Fraction>(), kReciprocal = unary<Reciprocal>(),
                         kRoot = unary<Root>(), kReciprocalRoot = unary<ReciprocalRoot>();

template <class Number>
Number known_power(Number base, double exponent) {
  constexpr double kHalf = 0.5, kCube = 3;
  if (exponent == 0) return 1;
  if (exponent == 1) return base;
  if (exponent == 2) return base * base;
  if (exponent == kCube) return base * base * base;
  if (exponent == kHalf) return Root{}(base);
  if (exponent == -1) return 1 / base;
  if (exponent == -2) return 1 / (base * base);
  no_result("the power is rounded");
}
template float known_power(float base, double exponent);
template double known_power(double base, double exponent);

Complex complex_quotient(const Complex& dividend, const Complex& divisor) {
  const double a = dividend.real(), b = dividend.imag(), c = divisor.real(), d = divisor.imag();
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

}  // namespace fxtrace::internal::arithmetic
