#include "catalog/content_key.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "archive/content_check.h"
#include "archive/zip_archive.h"
#include "support/fnv_hash.h"
#include "support/sha256.h"

namespace fxtrace::internal::catalog {
namespace {

std::string hexadecimal(std::uint64_t number) {
  constexpr std::size_t kDigits = 16;
  std::array<char, kDigits> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  const std::string text(digits.data(), end);
  return std::string(kDigits - text.size(), '0') + text;
}

std::string key_of_archive(const ZipArchive& archive) {
  FnvHash hash;
  for (const ZipArchive::Entry& entry : archive.entries()) {
    hash.add(entry.name);
    hash.add(entry.size);
    hash.add(entry.crc);
  }
  return "zip:" + hexadecimal(hash.value());
}

// Makes the key from all bytes.
std::string verified_key(const ModelFile& file, const FileInfo& info) {
  Sha256 hash;
  if (!info.zip) {
    file.for_each_piece(0, file.size(), [&](std::string_view piece) { hash.add(piece); });
    return "file-sha256:" + hash.digits();
  }
  for_each_record(*info.zip, [](const ZipArchive& archive, const ZipArchive::Entry& entry,
                                const std::string&) { static_cast<void>(archive.content_digest(entry)); });
  for (const ZipArchive::Entry& entry : info.zip->entries()) {
    hash.add(entry.name);
    hash.add(entry.size);
    hash.add(info.zip->content_digest(entry));
  }
  return "zip-sha256:" + hash.digits();
}

}  // namespace

std::string content_key(const ModelFile& file, const FileInfo& info) {
  if (file.digests()) return verified_key(file, info);
  if (info.zip) return key_of_archive(*info.zip);
  constexpr std::uint64_t kEnds = std::uint64_t{128} << 20;
  constexpr std::size_t kPart = std::size_t{1} << 20;
  FnvHash hash;
  hash.add(file.size());
  for (std::uint64_t at = 0; at < file.size();) {
    if (file.size() > 2 * kEnds && at == kEnds) at = file.size() - kEnds;
    const std::string part = file.read_at(at, kPart);
    if (part.empty()) break;
    hash.add(part);
    at += part.size();
  }
  return "file:" + hexadecimal(hash.value());
}

}  // namespace fxtrace::internal::catalog
