#include "tests/fuzz/stored_zip.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace fxtrace::internal::fuzz {
namespace {

std::uint32_t crc32(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? 0xEDB88320U ^ (value >> 1) : value >> 1;
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

void append(std::string& out, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

}  // namespace

std::string stored_zip(const std::vector<std::pair<std::string, std::string>>& records) {
  std::string out;
  std::string directory;
  for (const auto& [name, data] : records) {
    const std::size_t offset = out.size();
    // Version, flags, method, time, date; then the fields that both headers have.
    std::string common;
    append(common, 20, 2);
    append(common, 0, 2);
    append(common, 0, 2);
    append(common, 0, 2);
    append(common, 0x21, 2);
    append(common, crc32(data), 4);
    append(common, data.size(), 4);
    append(common, data.size(), 4);
    append(common, name.size(), 2);
    append(common, 0, 2);
    out += "PK\3\4" + common + name + data;
    directory += "PK\1\2";
    append(directory, 20, 2);
    directory += common;
    for (int i = 0; i < 5; ++i) append(directory, 0, 2);
    append(directory, offset, 4);
    directory += name;
  }
  const std::size_t start = out.size();
  out += directory;
  out += "PK\5\6";
  append(out, 0, 4);
  append(out, records.size(), 2);
  append(out, records.size(), 2);
  append(out, directory.size(), 4);
  append(out, start, 4);
  append(out, 0, 2);
  return out;
}

}  // namespace fxtrace::internal::fuzz
