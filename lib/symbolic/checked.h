// 64-bit arithmetic that detects overflow.  Private to lib/symbolic.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "symbolic/sym_int.h"

namespace fxtrace::internal::symbolic {

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
