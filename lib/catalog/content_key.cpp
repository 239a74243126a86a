#include "catalog/content_key.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "archive/zip_archive.h"

namespace fxtrace::catalog {
namespace {

// FNV-1a of 64 bits (Fowler, Noll, Vo): keys are kept, and compared with those of other machines.
class Hash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      hash_ ^= static_cast<unsigned char>(byte);
      hash_ *= 0x100000001b3;
    }
  }
  void add(std::uint64_t number) {
    std::array<char, 8> bytes{};
    for (char& byte : bytes) {
      byte = static_cast<char>(number & 0xff);
      number >>= 8;
    }
    add(std::string_view(bytes.data(), bytes.size()));
  }
  std::string text() const {
    std::string digits(16, '0');
    std::array<char, 16> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), hash_, 16).ptr;
    const std::string_view written(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    digits.replace(digits.size() - written.size(), written.size(), written);
    return digits;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

std::string key_of_archive(const ZipArchive& archive) {
  Hash hash;
  for (const ZipArchive::Entry& entry : archive.entries()) {
    hash.add(entry.name);
    hash.add(entry.size);
    hash.add(entry.crc);
  }
  return "zip:" + hash.text();
}

}  // namespace

std::string content_key(const ModelFile& file, const FileInfo& info) {
  if (info.zip) return key_of_archive(*info.zip);
  constexpr std::uint64_t kEnds = std::uint64_t{128} << 20;
  constexpr std::size_t kPart = std::size_t{1} << 20;
  Hash hash;
  hash.add(file.size());
  for (std::uint64_t at = 0; at < file.size();) {
    if (file.size() > 2 * kEnds && at == kEnds) at = file.size() - kEnds;
    const std::string part = file.read_at(at, kPart);
    if (part.empty()) break;
    hash.add(part);
    at += part.size();
  }
  return "file:" + hash.text();
}

}  // namespace fxtrace::catalog
