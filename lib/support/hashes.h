// Hashes: of structures that are compared, of texts, and SHA-256.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fxtrace::internal {

// Hashes of structures that are compared or matched.  They are not kept: another build may have others.

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

// FNV-1a of 64 bits (Fowler, Noll, Vo), for hashes that are kept and compared with those of other machines.

class FnvHash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      value_ ^= static_cast<unsigned char>(byte);
      value_ *= 0x100000001b3;
    }
  }
  // Adds the eight bytes of the number, the lowest one first.
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i, number >>= 8) {
      const char byte = static_cast<char>(number & 0xff);
      add(std::string_view(&byte, 1));
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

// SHA-256 (FIPS 180-4), for keys of content that nobody can forge.

class Sha256 {
 public:
  void add(std::string_view bytes);
  // Adds the eight bytes of the number, the lowest one first.
  void add(std::uint64_t number);
  // Returns the 64 hexadecimal digits of the hash of what was added.
  std::string digits() const;

 private:
  static constexpr std::size_t kBlock = 64;

  void add_block(std::string_view block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<char, kBlock> rest_{};  // bytes that do not fill a block yet
  std::uint64_t size_ = 0;           // of what was added, in bytes
};

}  // namespace fxtrace::internal
