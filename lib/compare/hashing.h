// Hashes of what is to be matched.  Two that are equal by chance cost a worse match, and nothing else: what
// differs is always told by looking.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace fxtrace {

inline std::uint64_t scramble(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  return value ^ value >> 33;
}
inline std::uint64_t combined(std::uint64_t first, std::uint64_t second) {
  return scramble(first * 3 + scramble(second + 0x9e3779b97f4a7c15ULL));
}
inline std::uint64_t text_hash(std::string_view text) { return std::hash<std::string_view>()(text); }

}  // namespace fxtrace
