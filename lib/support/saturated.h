// Saturating arithmetic for counts that a file claims.
#pragma once

#include <cstdint>
#include <limits>

namespace fxtrace::internal {

// Add and multiply non-negative counts, up to the largest number of the type.
inline void add_saturated(std::int64_t& total, std::int64_t count) {
  if (__builtin_add_overflow(total, count, &total)) total = std::numeric_limits<std::int64_t>::max();
}
inline void multiply_saturated(std::int64_t& total, std::int64_t count) {
  if (__builtin_mul_overflow(total, count, &total)) total = std::numeric_limits<std::int64_t>::max();
}

inline void add_saturated(std::uint64_t& total, std::uint64_t count) {
  if (__builtin_add_overflow(total, count, &total)) total = std::numeric_limits<std::uint64_t>::max();
}
inline void multiply_saturated(std::uint64_t& total, std::uint64_t count) {
  if (__builtin_mul_overflow(total, count, &total)) total = std::numeric_limits<std::uint64_t>::max();
}

}  // namespace fxtrace::internal
