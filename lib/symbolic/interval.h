// Integer intervals with saturating arithmetic.  Private to lib/symbolic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "symbolic/shape_env.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal::symbolic {

__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using): `using` takes no __extension__

// A bound greater than every product of two finite ends.
constexpr Wide kInfinity = static_cast<Wide>(1) << 126;
// The farthest finite end; an end beyond it is widened to it or to infinity.
constexpr Wide kFarthest = static_cast<Wide>(1) << 63;

inline Wide saturated_low(Wide value) {
  if (value < -kFarthest) return -kInfinity;
  return std::min(value, kFarthest);
}
inline Wide saturated_high(Wide value) {
  if (value > kFarthest) return kInfinity;
  return std::max(value, -kFarthest);
}

inline Wide wide_product(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  const bool infinite = a == kInfinity || a == -kInfinity || b == kInfinity || b == -kInfinity;
  if (infinite) return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
  return a * b;
}

// Divides with rounding down; `by` is not zero.  Infinity divided by a finite number stays infinite; anything
// divided by infinity is 0.
inline Wide wide_floor_divide(Wide a, Wide by) {
  if (a == kInfinity || a == -kInfinity) return by > 0 ? a : -a;
  if (by == kInfinity || by == -kInfinity) return a != 0 && (a < 0) != (by < 0) ? -1 : 0;
  const Wide quotient = a / by;
  return quotient - ((a % by != 0 && (a < 0) != (by < 0)) ? 1 : 0);
}
inline Wide wide_ceil_divide(Wide a, Wide by) { return -wide_floor_divide(-a, by); }

// A closed interval.
struct Interval {
  Wide low = -kInfinity;
  Wide high = kInfinity;

  static Interval from(Wide number) { return {number, number}; }
  static Interval from(const Range& range) {
    return {range.low ? *range.low : -kInfinity, range.high ? *range.high : kInfinity};
  }
  Range range() const {
    const auto fits = [](Wide value) {
      return value >= std::numeric_limits<std::int64_t>::min() &&
             value <= std::numeric_limits<std::int64_t>::max();
    };
    Range result;
    if (fits(low)) result.low = static_cast<std::int64_t>(low);
    if (fits(high)) result.high = static_cast<std::int64_t>(high);
    // An end beyond 64 bits on the wrong side is replaced by the last 64-bit number.
    if (!fits(low) && low > 0) result.low = std::numeric_limits<std::int64_t>::max();
    if (!fits(high) && high < 0) result.high = std::numeric_limits<std::int64_t>::min();
    return result;
  }
  bool is_single() const { return low == high; }
  bool contains(Wide value) const { return low <= value && value <= high; }
};

inline Interval operator+(const Interval& a, const Interval& b) {
  const bool low = a.low != -kInfinity && b.low != -kInfinity;
  const bool high = a.high != kInfinity && b.high != kInfinity;
  return {low ? saturated_low(a.low + b.low) : -kInfinity,
          high ? saturated_high(a.high + b.high) : kInfinity};
}

inline Interval operator*(const Interval& a, const Interval& b) {
  const Wide ends[] = {wide_product(a.low, b.low), wide_product(a.low, b.high), wide_product(a.high, b.low),
                       wide_product(a.high, b.high)};
  return {saturated_low(*std::min_element(std::begin(ends), std::end(ends))),
          saturated_high(*std::max_element(std::begin(ends), std::end(ends)))};
}

inline Interval power(const Interval& base, std::size_t times) {
  Interval result = base;
  for (std::size_t i = 1; i < times; ++i) result = result * base;
  if (times % 2 == 0 && result.low < 0) result.low = 0;
  return result;
}

inline Interval hull(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}
// Returns the intersection of two intervals that contain the same value.
inline Interval intersection(const Interval& a, const Interval& b) {
  const Interval result{std::max(a.low, b.low), std::min(a.high, b.high)};
  return result.low > result.high ? a : result;  // empty: no value exists, and any answer is right
}

// Returns the interval of p // q for nonzero q.
inline Interval floor_divide(const Interval& p, const Interval& q) {
  Interval result{kInfinity, -kInfinity};
  const auto divide_by = [&](Wide low, Wide high) {  // divisors of one sign
    for (const Wide by : {low, high}) {
      for (const Wide end : {p.low, p.high}) {
        const Wide quotient = wide_floor_divide(end, by);
        result = hull(result, {quotient, quotient});
      }
    }
  };
  if (q.high >= 1) divide_by(std::max<Wide>(q.low, 1), q.high);
  if (q.low <= -1) divide_by(q.low, std::min<Wide>(q.high, -1));
  return result.low > result.high ? Interval{} : result;  // every divisor is zero
}

// 64-bit arithmetic that detects overflow.  Private to lib/symbolic.

[[noreturn]] inline void overflow() { throw SymbolicError("a number does not fit into 64 bits"); }

inline std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}
inline std::int64_t subtract(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) overflow();
  return result;
}
inline std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}

// Divides with rounding down, as Python does.
inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) throw SymbolicError("division by zero");
  if (b == -1) return subtract(0, a);
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
// Returns the remainder with the divisor's sign, as Python does.
inline std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == 0) throw SymbolicError("division by zero");
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace fxtrace::internal::symbolic
