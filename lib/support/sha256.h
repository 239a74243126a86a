// SHA-256 (FIPS 180-4), for keys of content that nobody can forge.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fxtrace::internal {

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
