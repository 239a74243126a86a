// Little-endian integers in the bytes of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fxtrace::internal {

// Returns the unsigned integer of `size` bytes (at most 8) that begins at `at`.  All its bytes must be there.
inline std::uint64_t little_endian(std::string_view bytes, std::size_t at, int size) {
  std::uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i)
    value = (value << 8) | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

}  // namespace fxtrace::internal
