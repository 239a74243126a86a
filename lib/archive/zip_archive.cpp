#include "archive/zip_archive.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>

#include <zip.h>

#include "support/error.h"

namespace fxtrace {
namespace {

constexpr std::size_t kEndSize = 22;
constexpr std::size_t kMaxComment = 65'535;
constexpr std::size_t kZip64LocatorSize = 20;
constexpr std::size_t kZip64EndSize = 56;
constexpr std::size_t kDirectoryEntrySize = 46;

std::uint64_t little_endian(std::string_view bytes, std::size_t at, int size) {
  std::uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i)
    value = (value << 8) | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

std::string read_at(std::ifstream& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

struct Directory {
  std::uint64_t offset = 0, size = 0, entries = 0;
};

std::optional<Directory> find_directory(std::ifstream& file) {
  file.seekg(0, std::ios::end);
  const std::streamoff end = file.tellg();
  if (end < static_cast<std::streamoff>(kEndSize)) return std::nullopt;
  const auto file_size = static_cast<std::uint64_t>(end);
  const std::size_t tail_size = static_cast<std::size_t>(
      std::min<std::uint64_t>(file_size, kEndSize + kMaxComment + kZip64LocatorSize));
  const std::uint64_t tail_offset = file_size - tail_size;
  const std::string tail = read_at(file, tail_offset, tail_size);
  if (tail.size() < kEndSize) return std::nullopt;

  const std::size_t at = tail.rfind("PK\x05\x06", tail.size() - kEndSize);
  if (at == std::string::npos) return std::nullopt;
  Directory directory;
  directory.entries = little_endian(tail, at + 10, 2);
  directory.size = little_endian(tail, at + 12, 4);
  directory.offset = little_endian(tail, at + 16, 4);
  if (at >= kZip64LocatorSize && tail.compare(at - kZip64LocatorSize, 4, "PK\x06\x07") == 0) {
    const std::uint64_t zip64_offset = little_endian(tail, at - kZip64LocatorSize + 8, 8);
    const std::string zip64 = zip64_offset < file_size ? read_at(file, zip64_offset, kZip64EndSize) : "";
    if (zip64.size() == kZip64EndSize && zip64.compare(0, 4, "PK\x06\x06") == 0) {
      directory.entries = little_endian(zip64, 32, 8);
      directory.size = little_endian(zip64, 40, 8);
      directory.offset = little_endian(zip64, 48, 8);
    }
  }
  if (directory.offset > file_size || directory.size > file_size - directory.offset) {
    throw input_error("this is a damaged zip archive: its central directory points outside of the file");
  }
  return directory;
}

// Offset of a stored record's own header, from its entry in the central directory (at `at` in `bytes`);
// absent for a compressed or encrypted record.
std::optional<std::uint64_t> stored_header(std::string_view bytes, std::size_t at) {
  constexpr std::uint64_t kInZip64Field = 0xFFFFFFFF;
  const bool stored = little_endian(bytes, at + 10, 2) == 0;
  const bool encrypted = (little_endian(bytes, at + 8, 2) & 1) != 0;
  if (!stored || encrypted) return std::nullopt;
  const std::uint64_t header = little_endian(bytes, at + 42, 4);
  if (header != kInZip64Field) return header;
  // The zip64 field has the sizes first, those of them that do not fit either.
  const std::size_t skipped = (little_endian(bytes, at + 24, 4) == kInZip64Field ? 8U : 0U) +
                              (little_endian(bytes, at + 20, 4) == kInZip64Field ? 8U : 0U);
  std::size_t field = at + kDirectoryEntrySize + static_cast<std::size_t>(little_endian(bytes, at + 28, 2));
  const std::size_t end =
      std::min(bytes.size(), field + static_cast<std::size_t>(little_endian(bytes, at + 30, 2)));
  while (field + 4 <= end) {
    const auto size = static_cast<std::size_t>(little_endian(bytes, field + 2, 2));
    if (little_endian(bytes, field, 2) == 1) {
      if (skipped + 8 > size || field + 4 + skipped + 8 > end) return std::nullopt;
      return little_endian(bytes, field + 4 + skipped, 8);
    }
    field += 4 + size;
  }
  return std::nullopt;
}

// libzip reads the whole directory and files every name in a hash table when it opens an archive, so what
// could make that slow is refused before.  Gives back the offset of each stored record's own header.
std::vector<std::optional<std::uint64_t>> check_directory(std::ifstream& file, const Directory& directory) {
  if (directory.entries > ZipArchive::kMaxEntries || directory.size > ZipArchive::kMaxDirectoryBytes) {
    throw input_error("this zip archive is refused: it has " + std::to_string(directory.entries) +
                      " records (at most " + std::to_string(ZipArchive::kMaxEntries) +
                      ") in a directory of " + std::to_string(directory.size) + " bytes (at most " +
                      std::to_string(ZipArchive::kMaxDirectoryBytes) + ")");
  }
  const std::string bytes = read_at(file, directory.offset, static_cast<std::size_t>(directory.size));
  // Names that fall into the same few buckets of libzip's table would make opening quadratic.
  constexpr std::size_t kBuckets = 65'536;
  constexpr std::uint32_t kMaxBucket = 1'000;
  std::vector<std::uint32_t> buckets(kBuckets, 0);
  std::vector<std::optional<std::uint64_t>> headers;
  std::size_t at = 0;
  while (at + kDirectoryEntrySize <= bytes.size() && bytes.compare(at, 4, "PK\x01\x02") == 0) {
    const auto name = static_cast<std::size_t>(little_endian(bytes, at + 28, 2));
    const auto extra = static_cast<std::size_t>(little_endian(bytes, at + 30, 2));
    const auto comment = static_cast<std::size_t>(little_endian(bytes, at + 32, 2));
    if (name > ZipArchive::kMaxNameLength) {
      throw input_error("this zip archive is refused: a record's name has " + std::to_string(name) +
                        " bytes (at most " + std::to_string(ZipArchive::kMaxNameLength) + ")");
    }
    if (headers.size() == ZipArchive::kMaxEntries) {
      throw input_error("this zip archive is refused: it has more than " +
                        std::to_string(ZipArchive::kMaxEntries) + " records");
    }
    std::uint32_t hash = 5381;
    for (std::size_t i = at + kDirectoryEntrySize;
         i < std::min(bytes.size(), at + kDirectoryEntrySize + name); ++i) {
      hash = hash * 33 + static_cast<unsigned char>(bytes[i]);
    }
    if (++buckets[hash % kBuckets] > kMaxBucket) {
      throw input_error("this zip archive is refused: its records' names are made to collide");
    }
    headers.push_back(stored_header(bytes, at));
    at += kDirectoryEntrySize + name + extra + comment;
  }
  return headers;
}

std::string zip_message(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

}  // namespace

struct ZipArchive::Handle {
  zip_t* zip = nullptr;
  ~Handle() {
    if (zip != nullptr) zip_discard(zip);
  }
};

bool ZipArchive::has_end_record(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  try {
    return find_directory(file).has_value();
  } catch (const Error&) {
    return true;  // an end record there is, though a wrong one
  }
}

ZipArchive::ZipArchive(const std::string& path) : path_(path), handle_(std::make_unique<Handle>()) {
  {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw input_error("cannot be opened");
    const auto directory = find_directory(file);
    if (!directory) throw input_error("this is not a zip archive, or its end is missing");
    headers_ = check_directory(file, *directory);
  }
  int code = 0;
  handle_->zip = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (handle_->zip == nullptr) throw input_error("this is a damaged zip archive: " + zip_message(code));

  const zip_int64_t count = zip_get_num_entries(handle_->zip, 0);
  entries_.reserve(static_cast<std::size_t>(std::max<zip_int64_t>(count, 0)));
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    Entry entry;
    if (zip_stat_index(handle_->zip, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW, &stat) == 0) {
      if ((stat.valid & ZIP_STAT_NAME) != 0) entry.name = stat.name;
      if ((stat.valid & ZIP_STAT_SIZE) != 0) entry.size = stat.size;
    }
    entries_.push_back(std::move(entry));
  }
  index_.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].name, i);
}

ZipArchive::~ZipArchive() = default;

std::optional<std::uint64_t> ZipArchive::find_stored(std::string_view name) const {
  constexpr std::size_t kLocalHeaderSize = 30;
  const auto found = index_.find(name);
  // libzip numbers the records as the directory lists them.
  if (found == index_.end() || headers_.size() != entries_.size() || !headers_[found->second])
    return std::nullopt;
  const std::uint64_t header = *headers_[found->second];
  std::ifstream file(path_, std::ios::binary);
  const std::string local = read_at(file, header, kLocalHeaderSize);
  if (local.size() != kLocalHeaderSize || local.compare(0, 4, "PK\x03\x04") != 0) return std::nullopt;
  return header + kLocalHeaderSize + little_endian(local, 26, 2) + little_endian(local, 28, 2);
}

bool ZipArchive::contains(std::string_view name) const { return index_.count(name) != 0; }

std::string ZipArchive::read(std::string_view name, std::size_t max_bytes) const {
  const auto found = index_.find(name);
  if (found == index_.end()) throw input_error("there is no record " + std::string(name));
  const auto damaged = [&] {
    return input_error("this is a damaged zip archive: record " + std::string(name) +
                       " cannot be read: " + zip_error_strerror(zip_get_error(handle_->zip)));
  };
  zip_file_t* file = zip_fopen_index(handle_->zip, found->second, 0);
  if (file == nullptr) throw damaged();
  std::string bytes;
  std::array<char, 16'384> buffer;
  bool failed = false;
  while (bytes.size() < max_bytes) {
    const auto read = zip_fread(file, buffer.data(), std::min(buffer.size(), max_bytes - bytes.size()));
    failed = read < 0;
    if (read <= 0) break;
    bytes.append(buffer.data(), static_cast<std::size_t>(read));
  }
  zip_fclose(file);
  if (failed) throw damaged();
  return bytes;
}

}  // namespace fxtrace
