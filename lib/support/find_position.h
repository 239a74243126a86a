// Positions as Python counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fxtrace::internal {

// Returns the position from the front among `count` items; a negative one counts from the end.  Nothing when
// it is out of range, or not known.
inline std::optional<std::size_t> find_position(std::int64_t count, std::optional<std::int64_t> position) {
  if (!position || *position < -count || *position >= count) return std::nullopt;
  return static_cast<std::size_t>(*position < 0 ? *position + count : *position);
}

}  // namespace fxtrace::internal
