// Hashes of structures that are compared or matched.  They are not kept: another build may have others.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace fxtrace::internal {

// Returns the value with its bits mixed: the finalizer of MurmurHash3 (Austin Appleby, public domain).
inline std::uint64_t scramble(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  return value ^ value >> 33;
}
// Returns the hash of a sequence that `value` or `text` continues.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return scramble(hash * 0x9e3779b97f4a7c15ULL + value + 1);
}
inline std::uint64_t text_hash(std::string_view text) { return std::hash<std::string_view>()(text); }
inline std::uint64_t mix(std::uint64_t hash, std::string_view text) { return mix(hash, text_hash(text)); }

}  // namespace fxtrace::internal
