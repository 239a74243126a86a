// Integers that a file claims: saturating arithmetic, and positions as Python counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace fxtrace::internal {

// Saturating arithmetic for counts that a file claims.

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

// Positions as Python counts them.

// Returns the position from the front among `count` items; a negative one counts from the end.  Nothing when
// it is out of range, or not known.
inline std::optional<std::size_t> find_position(std::int64_t count, std::optional<std::int64_t> position) {
  if (!position || *position < -count || *position >= count) return std::nullopt;
  return static_cast<std::size_t>(*position < 0 ? *position + count : *position);
}

}  // namespace fxtrace::internal
