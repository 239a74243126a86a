// FNV-1a of 64 bits (Fowler, Noll, Vo), for hashes that are kept and compared with those of other machines.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
