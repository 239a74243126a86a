#include "archive/zip_archive.h"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <zlib.h>

#include "archive/model_file.h"
#include "support/hashes.h"

namespace fxtrace::internal {
namespace {

// The marks at the beginning of the structures of an archive (zip_archive.h), and their fixed sizes.
constexpr std::string_view kRecordMark = "PK\x03\x04";
constexpr std::string_view kDescriptorMark = "PK\x07\x08";
constexpr std::string_view kEntryMark = "PK\x01\x02";
constexpr std::string_view kZip64EndMark = "PK\x06\x06";
constexpr std::string_view kZip64LocatorMark = "PK\x06\x07";
constexpr std::string_view kEndMark = "PK\x05\x06";
constexpr std::size_t kHeaderSize = 30;
constexpr std::size_t kEntrySize = 46;
constexpr std::size_t kZip64EndSize = 56;
constexpr std::size_t kZip64LocatorSize = 20;
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kMaxComment = 65'535;

// Flags of a record: its content is encrypted in one or another way, the directory is, or it is a patch.
constexpr std::uint64_t kIsEncrypted = 0x2061;
constexpr std::uint64_t kHasDescriptor = 0x8;
constexpr std::uint64_t kInZip64Field = 0xFFFFFFFF;  // stands for a size or offset in the zip64 field
constexpr std::uint64_t kStored = 0;
constexpr std::uint64_t kDeflated = 8;

Error misleading(std::uint64_t at, const std::string& what) {
  return misleading_archive(what + " (byte " + std::to_string(at) + ")");
}

std::string quoted(const std::string& name) {
  constexpr std::size_t kShown = 200;
  return "'" + name.substr(0, kShown) + "'";
}

// The bytes of an archive: a file, a part of a file, or memory.
class Bytes {
 public:
  explicit Bytes(ModelFile file) : file_(std::move(file)), digests_(file_->digests()), size_(file_->size()) {}
  Bytes(ModelFile file, const FileRange& part) : Bytes(Bytes(std::move(file)), part.offset, part.size) {}
  Bytes(const Bytes& outer, std::uint64_t start, std::uint64_t size)
      : file_(outer.file_),
        digests_(outer.digests_),
        start_(std::min(start, file_->size())),
        size_(std::min(size, file_->size() - start_)) {}
  Bytes(const Bytes& outer, std::string memory)
      : memory_(std::move(memory)), digests_(outer.digests_), size_(memory_.size()) {
    if (digests_) space_ = ++digests_->memories;
  }

  bool is_file() const { return file_.has_value(); }
  std::uint64_t start() const { return start_; }  // in the file
  std::uint64_t size() const { return size_; }
  const std::shared_ptr<ContentDigests>& digests() const { return digests_; }
  // Returns the key in ContentDigests of what is at this offset.
  std::pair<std::uint64_t, std::uint64_t> place(std::uint64_t offset) const {
    return {space_, start_ + offset};
  }
  // Returns at most `size` bytes; fewer where the archive ends.
  std::string read_at(std::uint64_t offset, std::size_t size) const {
    if (offset >= size_) return {};
    std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(size, size_ - offset)), '\0');
    bytes.resize(read_at(offset, bytes.size(), bytes.data()));
    return bytes;
  }
  std::size_t read_at(std::uint64_t offset, std::size_t size, char* to) const {
    if (offset >= size_) return 0;
    size = static_cast<std::size_t>(std::min<std::uint64_t>(size, size_ - offset));
    return file_ ? file_->read_at(start_ + offset, size, to)
                 : memory_.copy(to, size, static_cast<std::size_t>(offset));
  }

 private:
  std::optional<ModelFile> file_;
  std::string memory_;  // without a file
  std::shared_ptr<ContentDigests> digests_;
  std::uint64_t start_ = 0, size_ = 0;
  std::uint64_t space_ = 0;  // the number of this archive in memory
};

// Returns the offset of the end record that a search from the end finds; nothing for bytes without one.
std::optional<std::uint64_t> find_end(const Bytes& bytes) {
  if (bytes.size() < kEndSize) return std::nullopt;
  // Hardly any archive has a comment, so the record is first looked for at the very end.
  for (const std::size_t comment : {std::size_t{0}, kMaxComment}) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), kEndSize + comment));
    const std::string tail = bytes.read_at(bytes.size() - size, size);
    if (tail.size() < size) return std::nullopt;
    const std::size_t at = tail.rfind(kEndMark, size - kEndSize);
    if (at != std::string::npos) return bytes.size() - size + at;
  }
  return std::nullopt;
}

struct Directory {
  std::uint64_t offset = 0, size = 0, entries = 0;
  bool operator==(const Directory&) const = default;
};

// Returns the directory that an end record, or one of zip64, states.
Directory directory_of_end(std::string_view end) {
  return {.offset = little_endian(end, 16, 4),
          .size = little_endian(end, 12, 4),
          .entries = little_endian(end, 10, 2)};
}
Directory directory_of_zip64_end(std::string_view end) {
  return {.offset = little_endian(end, 48, 8),
          .size = little_endian(end, 40, 8),
          .entries = little_endian(end, 32, 8)};
}

// Returns the locator of zip64 before the end record at `end`; empty if there is none.
std::string zip64_locator(const Bytes& bytes, std::uint64_t end) {
  if (end < kZip64LocatorSize) return {};
  std::string locator = bytes.read_at(end - kZip64LocatorSize, kZip64LocatorSize);
  return locator.size() == kZip64LocatorSize && locator.starts_with(kZip64LocatorMark) ? locator : "";
}

// Returns the directory by the end record of zip64, whose locator begins at `at`.  `end` is the end record,
// which must agree or leave its fields out.
Directory zip64_directory(const Bytes& bytes, std::uint64_t at, std::string_view locator,
                          std::string_view end) {
  const std::uint64_t start = at < kZip64EndSize ? at : at - kZip64EndSize;
  const std::string zip64 = bytes.read_at(start, kZip64EndSize);
  constexpr std::uint64_t kRest = kZip64EndSize - 12;  // the bytes behind the field with this number
  if (start == at || !zip64.starts_with(kZip64EndMark) || little_endian(locator, 8, 8) != start ||
      little_endian(zip64, 4, 8) != kRest)
    throw misleading(at, "the end record of zip64 is not right before its locator");
  const bool is_split = little_endian(locator, 4, 4) != 0 || little_endian(locator, 16, 4) > 1 ||
                        little_endian(zip64, 16, 8) != 0 ||
                        little_endian(zip64, 24, 8) != little_endian(zip64, 32, 8);
  if (is_split) throw misleading(start, "it is a part of an archive of several disks");
  const Directory directory = directory_of_zip64_end(zip64);
  const auto agrees = [&](std::size_t place, int size, std::uint64_t value) {
    const std::uint64_t said = little_endian(end, place, size);
    return said == value || said == (std::uint64_t{1} << (8 * size)) - 1;
  };
  if (!agrees(8, 2, directory.entries) || !agrees(10, 2, directory.entries) ||
      !agrees(12, 4, directory.size) || !agrees(16, 4, directory.offset))
    throw misleading(start, "the end record and that of zip64 disagree on the directory");
  return directory;
}

Directory find_directory(const Bytes& bytes, std::uint64_t at) {
  const std::string end = bytes.read_at(
      at, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size() - at, kEndSize + kMaxComment)));
  const std::uint64_t whole = kEndSize + little_endian(end, 20, 2);
  if (whole != bytes.size() - at) {
    throw misleading(at, whole < bytes.size() - at
                             ? std::to_string(bytes.size() - at - whole) + " bytes follow the end record"
                             : "the comment of the end record is cut off");
  }
  if (const std::size_t other = end.find(kEndMark, kEndMark.size()); other != std::string::npos)
    throw misleading(at + other, "the comment of the end record contains a second end record");
  std::uint64_t directory_end = at;
  Directory directory;
  if (const std::string locator = zip64_locator(bytes, at); !locator.empty()) {
    directory = zip64_directory(bytes, at - kZip64LocatorSize, locator, end);
    directory_end -= kZip64LocatorSize + kZip64EndSize;
  } else {
    directory = directory_of_end(end);
    if (little_endian(end, 8, 2) != directory.entries)
      throw misleading(at, "it is a part of an archive of several disks");
  }
  if (little_endian(end, 4, 4) != 0) throw misleading(at, "it is a part of an archive of several disks");
  if (directory.offset > directory_end || directory.size != directory_end - directory.offset) {
    throw misleading(at, "the directory, " + std::to_string(directory.size) + " bytes from byte " +
                             std::to_string(directory.offset) +
                             " on, does not end where the end record begins");
  }
  if (directory.entries > ZipArchive::kMaxEntries || directory.size > ZipArchive::kMaxDirectoryBytes) {
    throw input_error("refusing this zip archive: it has " + std::to_string(directory.entries) +
                      " records (at most " + std::to_string(ZipArchive::kMaxEntries) +
                      ") in a directory of " + std::to_string(directory.size) + " bytes (at most " +
                      std::to_string(ZipArchive::kMaxDirectoryBytes) + ")");
  }
  return directory;
}

// Returns where the archive of torch.save begins that ends where `bytes` do; nothing if none does.
std::optional<std::uint64_t> find_start_of_last(const Bytes& bytes) {
  if (bytes.size() < kEndSize) return std::nullopt;
  std::uint64_t at = bytes.size() - kEndSize;
  const std::string end = bytes.read_at(at, kEndSize);
  if (end.size() != kEndSize || !end.starts_with(kEndMark) || little_endian(end, 20, 2) != 0)
    return std::nullopt;
  Directory directory = directory_of_end(end);
  if (!zip64_locator(bytes, at).empty()) {
    constexpr std::uint64_t kBefore = kZip64LocatorSize + kZip64EndSize;
    if (at < kBefore) return std::nullopt;
    at -= kBefore;
    const std::string zip64 = bytes.read_at(at, kZip64EndSize);
    if (zip64.size() != kZip64EndSize || !zip64.starts_with(kZip64EndMark)) return std::nullopt;
    directory = directory_of_zip64_end(zip64);
  }
  if (directory.size > at || directory.offset > at - directory.size) return std::nullopt;
  const std::uint64_t start = at - directory.size - directory.offset;
  constexpr std::string_view kFirst = "archive/data.pkl";  // of what is saved to a stream
  const std::string header = bytes.read_at(start, kHeaderSize + kFirst.size());
  const bool is_saved = header.starts_with(kRecordMark) && header.ends_with(kFirst);
  return is_saved ? std::optional(start) : std::nullopt;
}

// Returns whether miniz, which takes the whole chain for one archive, finds a directory other than that of
// the first archive.
bool is_misread(const Bytes& chain, const Bytes& first) {
  const std::uint64_t at = chain.size() - kEndSize;
  Directory found = directory_of_end(chain.read_at(at, kEndSize));
  if (const std::string locator = zip64_locator(chain, at); !locator.empty()) {
    const std::string end = chain.read_at(little_endian(locator, 8, 8), kZip64EndSize);
    if (end.size() == kZip64EndSize && end.starts_with(kZip64EndMark)) found = directory_of_zip64_end(end);
  }
  if (found == find_directory(first, first.size() - kEndSize)) return false;
  if (found.size > chain.size() || found.offset > chain.size() - found.size) return false;
  if (found.size > ZipArchive::kMaxDirectoryBytes) return true;
  const std::string text = chain.read_at(found.offset, static_cast<std::size_t>(found.size));
  std::string_view rest = text;
  for (std::uint64_t i = 0; i < found.entries; ++i) {
    if (rest.size() < kEntrySize || !rest.starts_with(kEntryMark)) return false;
    std::uint64_t size = kEntrySize;
    for (const std::size_t field : {28, 30, 32}) size += little_endian(rest, field, 2);
    rest.remove_prefix(static_cast<std::size_t>(std::min<std::uint64_t>(size, rest.size())));
  }
  return true;
}

// Returns the extra field of an entry or a header that has the numbers that do not fit into 32 bits; empty if
// there is none.  `at`: the offset of the entry, for errors.
std::string_view zip64_field(std::string_view extra, std::string_view name, std::uint64_t at) {
  constexpr std::uint64_t kZip64 = 0x0001;
  constexpr std::uint64_t kOtherName = 0x7075;
  constexpr std::size_t kBeforeName = 5;
  std::string_view zip64;
  bool is_there = false;
  constexpr std::size_t kStart = 4;
  while (extra.size() >= kStart) {
    const std::uint64_t kind = little_endian(extra, 0, 2);
    const auto size = static_cast<std::size_t>(little_endian(extra, 2, 2));
    if (size > extra.size() - kStart)
      throw misleading(at, "an extra field of record " + quoted(std::string(name)) + " is cut off");
    const std::string_view field = extra.substr(kStart, size);
    if (kind == kZip64) {
      if (is_there)
        throw misleading(at, "record " + quoted(std::string(name)) + " has two fields with its size");
      is_there = true;
      zip64 = field;
    }
    if (kind == kOtherName && size > kBeforeName && field.substr(kBeforeName) != name)
      throw misleading(at, "record " + quoted(std::string(name)) + " has a second name");
    extra.remove_prefix(kStart + size);
  }
  return zip64;
}

// Returns `value`, or the next number of the zip64 field if it is marked as being there.
std::uint64_t number(std::uint64_t value, std::string_view& zip64, const std::string& name,
                     std::uint64_t at) {
  if (value != kInZip64Field) return value;
  if (zip64.size() < 8) throw misleading(at, "record " + quoted(name) + " has no field with its size");
  const std::uint64_t wide = little_endian(zip64, 0, 8);
  zip64.remove_prefix(8);
  return wide;
}

// The data of a record that ZipArchive::Entry does not have.
struct Record {
  std::uint64_t header = 0;   // offset of its header
  std::uint64_t content = 0;  // offset of its content
  std::uint64_t method = 0, flags = 0;
};

bool is_link(std::string_view entry) {
  constexpr std::uint64_t kUnix = 3;
  constexpr std::uint64_t kTypeMask = 0xF000;
  constexpr std::uint64_t kLink = 0xA000;
  return little_endian(entry, 5, 1) == kUnix && ((little_endian(entry, 38, 4) >> 16) & kTypeMask) == kLink;
}

bool is_folder(std::string_view entry, std::string_view name) {
  constexpr std::uint64_t kFolder = 0x10;
  return name.ends_with('/') || (little_endian(entry, 38, 4) & kFolder) != 0;
}

// Returns the name in lower case, as miniz compares names.
std::string lower(std::string_view name) {
  std::string result(name);
  for (char& c : result) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return result;
}

// Returns a key that is equal for names that some reader takes for the same: miniz ignores case, and a file
// system may ignore case and how a path is written.
std::string found_under(std::string_view name) {
  std::string path;
  while (!name.empty()) {
    const std::size_t end = name.find_first_of("/\\");
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(end == std::string_view::npos ? name.size() : end + 1);
    if (part.empty() || part == ".") continue;
    path += "/" + lower(part);
  }
  return path;
}

// Reads the directory and checks it against the rest of the archive.
class DirectoryReader {
 public:
  DirectoryReader(const Bytes& bytes, const Directory& directory) : bytes_(bytes), directory_(directory) {}

  void read() {
    const std::string text = bytes_.read_at(directory_.offset, static_cast<std::size_t>(directory_.size));
    std::string_view rest = text;
    while (!rest.empty())
      rest.remove_prefix(read_entry(rest, directory_.offset + (text.size() - rest.size())));
    if (entries.size() != directory_.entries) {
      throw misleading(directory_.offset, "the directory has " + std::to_string(entries.size()) +
                                              " records, and the end record says " +
                                              std::to_string(directory_.entries));
    }
    check_names();
    check_places();
  }

  std::vector<ZipArchive::Entry> entries;
  std::vector<Record> records;

 private:
  // Reads the entry at the beginning of `text`, and returns its size.
  std::size_t read_entry(std::string_view text, std::uint64_t at) {
    if (text.size() < kEntrySize || !text.starts_with(kEntryMark))
      throw misleading(at, "the directory has bytes that are not an entry of a record");
    const auto name = static_cast<std::size_t>(little_endian(text, 28, 2));
    const auto extra = static_cast<std::size_t>(little_endian(text, 30, 2));
    const std::size_t size = kEntrySize + name + extra + static_cast<std::size_t>(little_endian(text, 32, 2));
    if (size > text.size()) throw misleading(at, "the directory's last entry is cut off");
    if (name > ZipArchive::kMaxNameLength) {
      throw input_error("refusing this zip archive: a record's name has " + std::to_string(name) +
                        " bytes (at most " + std::to_string(ZipArchive::kMaxNameLength) + ")");
    }
    if (entries.size() == directory_.entries) {
      throw misleading(at, "the directory has more records than the " + std::to_string(directory_.entries) +
                               " of the end record");
    }
    ZipArchive::Entry& entry = entries.emplace_back();
    entry.name = text.substr(kEntrySize, name);
    if (entry.name.find('\0') != std::string::npos)
      throw misleading(at, "the name of record " + quoted(entry.name.substr(0, entry.name.find('\0'))) +
                               " goes on behind a zero byte");
    Record& record = records.emplace_back();
    record.flags = little_endian(text, 8, 2);
    record.method = little_endian(text, 10, 2);
    entry.crc = static_cast<std::uint32_t>(little_endian(text, 16, 4));
    std::string_view zip64 = zip64_field(text.substr(kEntrySize + name, extra), entry.name, at);
    entry.size = number(little_endian(text, 24, 4), zip64, entry.name, at);
    entry.compressed_size = number(little_endian(text, 20, 4), zip64, entry.name, at);
    record.header = number(little_endian(text, 42, 4), zip64, entry.name, at);
    entry.is_link = is_link(text);
    if ((record.flags & kIsEncrypted) != 0)
      throw misleading(at, "record " + quoted(entry.name) + " is encrypted or a patch");
    if (little_endian(text, 34, 2) != 0) throw misleading(at, "it is a part of an archive of several disks");
    if (entry.size > 0 && is_folder(text, entry.name))  // miniz then returns uninitialized memory
      throw misleading(at, "record " + quoted(entry.name) + " is a folder, and has content");
    if (record.method == kStored && entry.size != entry.compressed_size) {
      throw misleading(at, "record " + quoted(entry.name) + " is not compressed, but has the sizes " +
                               std::to_string(entry.size) + " and " + std::to_string(entry.compressed_size));
    }
    return size;
  }

  void check_names() const {
    std::vector<std::pair<std::string, std::size_t>> names;
    names.reserve(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) names.emplace_back(found_under(entries[i].name), i);
    std::ranges::sort(names);
    const auto same = std::ranges::adjacent_find(names, {}, [](const auto& name) { return name.first; });
    if (same == names.end()) return;
    const std::string& first = entries[same->second].name;
    const std::string& second = entries[(same + 1)->second].name;
    throw misleading(records[(same + 1)->second].header,
                     first == second ? "two records are called " + quoted(first)
                                     : "records " + quoted(first) + " and " + quoted(second) +
                                           " have one name for some readers");
  }

  void check_places() {
    std::vector<std::size_t> order(entries.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(records[i].header, i); });
    std::uint64_t free = 0;  // the end of the records seen so far
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t record = order[i];
      const std::uint64_t header = records[record].header;
      if (header > free) throw between(free, header);
      free = end_of(record, i + 1 < order.size() ? records[order[i + 1]].header : directory_.offset);
    }
    if (free < directory_.offset) throw between(free, directory_.offset);
  }

  static Error between(std::uint64_t start, std::uint64_t end) {
    return misleading(start, std::to_string(end - start) + " bytes " +
                                 (start == 0 ? "come before the first record" : "do not belong to a record"));
  }

  // Checks the record's header against its entry, and returns where the record ends.  Throws where that is
  // behind `next`.
  std::uint64_t end_of(std::size_t i, std::uint64_t next) {
    const ZipArchive::Entry& entry = entries[i];
    Record& record = records[i];
    const std::string header = bytes_.read_at(record.header, kHeaderSize + entry.name.size());
    const auto wrong = [&](const std::string& what) {
      return misleading(record.header, "the header of record " + quoted(entry.name) + " " + what);
    };
    if (header.size() < kHeaderSize || !header.starts_with(kRecordMark)) throw wrong("is missing");
    const std::string_view name = std::string_view(header).substr(kHeaderSize);
    if (name != entry.name || little_endian(header, 26, 2) != entry.name.size())
      throw wrong("has another name than the directory");
    if (little_endian(header, 8, 2) != record.method) throw wrong("has another method of compression");
    const std::uint64_t flags = little_endian(header, 6, 2) | record.flags;
    if ((flags & kIsEncrypted) != 0) throw wrong("says that it is encrypted or a patch");
    if (!sizes_agree(header, entry, record, (flags & kHasDescriptor) != 0))
      throw wrong("has another size or checksum than the directory");
    record.content = record.header + kHeaderSize + entry.name.size() + little_endian(header, 28, 2);
    if (record.content > next || entry.compressed_size > next - record.content)
      throw misleading(record.header, "record " + quoted(entry.name) + " overlaps what follows it");
    const std::uint64_t end = record.content + entry.compressed_size;
    return (flags & kHasDescriptor) != 0 && has_descriptor(end, next, entry) ? next : end;
  }

  bool sizes_agree(std::string_view header, const ZipArchive::Entry& entry, const Record& record,
                   bool has_descriptor) const {
    const std::uint64_t crc = little_endian(header, 14, 4);
    std::uint64_t compressed = little_endian(header, 18, 4);
    std::uint64_t size = little_endian(header, 22, 4);
    const auto is_left_out = [&](std::uint64_t value) {
      return has_descriptor && (value == 0 || value == kInZip64Field);
    };
    if (!is_left_out(size) || !is_left_out(compressed)) {
      std::string extra;
      std::string_view zip64;
      if (size == kInZip64Field || compressed == kInZip64Field) {
        extra = bytes_.read_at(record.header + kHeaderSize + entry.name.size(),
                               static_cast<std::size_t>(little_endian(header, 28, 2)));
        zip64 = zip64_field(extra, entry.name, record.header);
      }
      size = number(size, zip64, entry.name, record.header);
      compressed = number(compressed, zip64, entry.name, record.header);
    }
    return (size == entry.size || is_left_out(size)) &&
           (compressed == entry.compressed_size || is_left_out(compressed)) &&
           (crc == entry.crc || (has_descriptor && crc == 0));
  }

  // Returns whether the bytes between a record's content and the next structure are exactly a descriptor with
  // the entry's checksum and sizes.
  bool has_descriptor(std::uint64_t start, std::uint64_t next, const ZipArchive::Entry& entry) const {
    const std::uint64_t size = next - start;
    constexpr std::uint64_t kLongest = 24;
    if (size > kLongest) return false;
    std::string text = bytes_.read_at(start, static_cast<std::size_t>(size));
    constexpr std::size_t kShort = 12, kLong = 20;  // without the mark
    if ((text.size() == kShort + 4 || text.size() == kLong + 4) && text.starts_with(kDescriptorMark))
      text.erase(0, kDescriptorMark.size());
    if (text.size() != kShort && text.size() != kLong) return false;
    const int width = text.size() == kShort ? 4 : 8;
    return little_endian(text, 0, 4) == entry.crc && little_endian(text, 4, width) == entry.compressed_size &&
           little_endian(text, 4 + static_cast<std::size_t>(width), width) == entry.size;
  }

  const Bytes& bytes_;
  const Directory directory_;
};

// Decompresses a deflated record, a piece at a time.
class Inflation {
 public:
  Inflation() {
    if (::inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflation() { ::inflateEnd(&stream_); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;

  // Gives the next compressed bytes; those given before must be used up.
  void give(std::string& bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(bytes.data());  // NOLINT: zlib's
    stream_.avail_in = static_cast<uInt>(bytes.size());
  }
  bool is_used_up() const { return stream_.avail_in == 0; }
  bool is_done() const { return is_done_; }
  // Returns the number of bytes written to `to`; nothing if the stream is damaged.
  std::optional<std::size_t> take(char* to, std::size_t size) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);  // NOLINT: likewise
    stream_.avail_out = static_cast<uInt>(size);
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    is_done_ = code == Z_STREAM_END;
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return std::nullopt;
    return size - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool is_done_ = false;
};

std::uint32_t crc_of(std::string_view bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));  // NOLINT: likewise
}

}  // namespace

Error misleading_archive(const std::string& what) {
  return input_error("this is a damaged zip archive, or one in which readers find different files: " + what,
                     {"save the model again; if you trust the file, unpack it and zip it again"});
}

struct ZipArchive::Handle {
  explicit Handle(Bytes from) : bytes(std::move(from)) {}
  Bytes bytes;
  std::uint64_t free = kReadBytes;  // the part of the limit of all reads that does not depend on the size
  std::vector<Record> records;      // of the entries, in their order
  std::vector<std::string> names;   // likewise, in lower case
  std::string prefix;               // names of the records around this archive, with slashes

  // Returns the record with this name; null where there is none.  Throws for a record whose name differs in
  // case only, which miniz would return and zipfile would not.
  static const Entry* find(const ZipArchive& archive, std::string_view name) {
    const auto found = archive.index_.find(lower(name));
    if (found == archive.index_.end()) return nullptr;
    const Entry& entry = archive.entries_[found->second];
    if (entry.name == name) return &entry;
    throw misleading(
        archive.handle_->records[found->second].header,
        "record " + quoted(entry.name) + " is " + quoted(std::string(name)) + " for some readers");
  }
  const Record& record_of(const ZipArchive& archive, const Entry& entry) const {
    return records[static_cast<std::size_t>(&entry - archive.entries_.data())];
  }
  // Counts bytes that are read against the limit of all reads.
  void count(const ZipArchive& archive, std::size_t size) const {
    archive.read_ += size;
    if (archive.read_ <= free + kReadTimes * bytes.size()) return;
    throw input_error("refusing this zip archive: its records grow to more than " +
                          std::to_string(kReadTimes) + " times its " + std::to_string(bytes.size()) +
                          " bytes",
                      {"if the file is as it should be, write it without compression"});
  }
  // Decompresses the first `wanted` bytes of a record, in pieces, of which the last may be longer.  Returns
  // what is wrong with it, as far as it is read; null for nothing.
  const char* inflate(const ZipArchive& archive, const Entry& entry, std::uint64_t wanted,
                      const std::function<void(std::string_view)>& f) const;
};

bool ZipArchive::has_end_record(const ModelFile& file) { return find_end(Bytes(file)).has_value(); }

ZipArchive::ZipArchive(ModelFile file) : handle_(std::make_unique<Handle>(Bytes(std::move(file)))) { open(); }

ZipArchive::ZipArchive(ModelFile file, const FileRange& part)
    : handle_(std::make_unique<Handle>(Bytes(std::move(file), part))) {
  handle_->free = 0;  // a file may have many parts
  open();
}

ZipArchive::ZipArchive(const ZipArchive& outer, std::string_view record) {
  const Entry* found = Handle::find(outer, record);
  if (found == nullptr) throw input_error("no such record: " + std::string(record));
  if (const auto start = outer.find_stored(record)) {
    handle_ = std::make_unique<Handle>(Bytes(outer.handle_->bytes, *start, found->size));
  } else {
    handle_ =
        std::make_unique<Handle>(Bytes(outer.handle_->bytes, outer.read(record, kMaxCompressedArchive + 1)));
    if (handle_->bytes.size() > kMaxCompressedArchive) {
      throw input_error("record " + std::string(record) + " is refused: it is compressed and larger than " +
                        std::to_string(kMaxCompressedArchive) + " bytes");
    }
  }
  handle_->prefix = outer.handle_->prefix + found->name + "/";
  try {
    open();
  } catch (const Error& error) {
    throw input_error("record " + std::string(record) + ": " + error.what(), error.hints());
  }
}

void ZipArchive::open() {
  const auto end = find_end(handle_->bytes);
  if (!end) throw input_error("this is not a zip archive, or its end is missing");
  DirectoryReader reader(handle_->bytes, find_directory(handle_->bytes, *end));
  reader.read();
  entries_ = std::move(reader.entries);
  handle_->records = std::move(reader.records);
  for (const Entry& entry : entries_) handle_->names.push_back(lower(entry.name));
  for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(handle_->names[i], i);
}

ZipArchive::~ZipArchive() = default;

void ZipArchive::check_is_there(const Entry& entry) const {
  constexpr std::string_view kMark = "fxtrace: not fetched";
  constexpr std::size_t kShortest = 4;  // of a record that may be a hole
  constexpr std::uint64_t kLongest = 1'024;
  const auto start_of = [&](const Entry& each) {
    return handle_->bytes.read_at(handle_->record_of(*this, each).content,
                                  static_cast<std::size_t>(std::min(kLongest, each.compressed_size)));
  };
  const std::string start = start_of(entry);
  if (start.size() < kShortest || !start.starts_with(kMark.substr(0, start.size()))) return;
  std::string url;
  for (std::size_t i = 0; i < entries_.size() && url.empty(); ++i) {  // a small hole has no room for it
    const std::string bytes = start_of(entries_[i]);
    if (bytes.starts_with(kMark)) url = bytes.substr(0, bytes.find('\n')).erase(0, kMark.size() + 2);
  }
  constexpr std::string_view kSigns = "%+,-./:=@_~";  // of a URL that a shell takes as it is
  const bool is_plain = std::ranges::all_of(url, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kSigns.find(c) != std::string_view::npos;
  });
  throw input_error("the bytes of record " + quoted(entry.name) + " are not here: this file is a skeleton",
                    {"fetch the whole file: python -m fxtrace fetch --whole -o FILE " +
                     (is_plain && !url.empty() ? url : "URL")});
}

void ZipArchive::check_is_whole() const {
  for (const Entry& entry : entries_) check_is_there(entry);
}

std::optional<std::uint64_t> ZipArchive::find_stored(std::string_view name) const {
  const Entry* found = Handle::find(*this, name);
  if (found == nullptr || !handle_->bytes.is_file()) return std::nullopt;
  const Record& record = handle_->record_of(*this, *found);
  check_is_there(*found);
  if (record.method != kStored) return std::nullopt;
  return handle_->bytes.start() + record.content;
}

const ZipArchive::Entry* ZipArchive::find_exactly(std::string_view name) const {
  const auto found = index_.find(lower(name));
  return found == index_.end() || entries_[found->second].name != name ? nullptr : &entries_[found->second];
}

bool ZipArchive::contains(std::string_view name) const { return Handle::find(*this, name) != nullptr; }

std::uint64_t ZipArchive::size(std::string_view name) const {
  const Entry* found = Handle::find(*this, name);
  return found == nullptr ? 0 : found->size;
}

std::uint64_t ZipArchive::stored_size(std::string_view name) const {
  const Entry* found = Handle::find(*this, name);
  return found == nullptr ? 0 : found->compressed_size;
}

std::uint32_t ZipArchive::crc(std::string_view name) const {
  const Entry* found = Handle::find(*this, name);
  return found == nullptr ? 0 : found->crc;
}

std::string ZipArchive::content_key(std::string_view name, std::int64_t offset,
                                    const std::vector<std::int64_t>& sizes,
                                    const std::vector<std::int64_t>& strides) const {
  const Entry* found = Handle::find(*this, name);
  const bool is_verified = handle_->bytes.digests() != nullptr;
  if (found == nullptr || (found->crc == 0 && !is_verified)) return {};
  std::string key = is_verified ? content_digest(*found) : std::to_string(found->crc);
  key += "-" + std::to_string(found->size);
  if (offset != 0) key += "+" + std::to_string(offset);
  // The stride of a dimension of size 1 does not matter.
  std::string layout;
  bool is_by_rows = true;
  std::int64_t row = 1;
  for (std::size_t i = std::min(sizes.size(), strides.size()); i-- > 0;) {
    if (sizes[i] == 1) continue;
    is_by_rows = is_by_rows && strides[i] == row;
    if (__builtin_mul_overflow(row, sizes[i], &row)) return {};
    layout = std::to_string(strides[i]) + (layout.empty() ? "" : ",") + layout;
  }
  return is_by_rows ? key : key + "/" + layout;
}

std::vector<FileRange> find_saved_archives(const ModelFile& file) {
  const Bytes whole(file);
  std::vector<FileRange> archives;
  for (std::uint64_t end = whole.size(); end > 0; end = archives.back().offset) {
    const auto start = find_start_of_last(Bytes(whole, 0, end));
    if (!start) return {};
    if (archives.size() == kMaxChain)
      throw input_error("refusing this file: it is a chain of more than " + std::to_string(kMaxChain) +
                        " zip archives");
    archives.push_back({*start, end - *start});
  }
  std::ranges::reverse(archives);
  if (archives.size() > 1 && is_misread(whole, Bytes(whole, 0, archives.front().size)))
    throw misleading_archive("it is a chain of archives, in which some readers find another directory");
  return archives;
}

RecordBytes bytes_of_record(const ZipArchive& archive, std::string_view name) {
  RecordBytes bytes;
  bytes.offset = archive.find_stored(name);
  bytes.size = archive.size(name);
  if (const std::uint32_t crc = archive.crc(name); crc != 0) bytes.crc = crc;
  if (!bytes.offset) bytes.content = archive.read(name, static_cast<std::size_t>(bytes.size));
  return bytes;
}

std::string joined_content_keys(const std::vector<std::string>& keys) {
  std::string joined;
  for (const std::string& key : keys) {
    if (key.empty()) return {};
    joined += (joined.empty() ? "" : ";") + key;
  }
  return joined;
}

const char* ZipArchive::Handle::inflate(const ZipArchive& archive, const Entry& entry, std::uint64_t wanted,
                                        const std::function<void(std::string_view)>& f) const {
  const Record& record = record_of(archive, entry);
  if (record.method != kDeflated) return "it is compressed by a method that PyTorch does not read";
  Inflation inflation;
  std::string compressed;
  std::array<char, 1 << 16> buffer;
  std::uint64_t at = 0;    // the compressed bytes read so far
  std::uint64_t size = 0;  // the bytes that they are
  bool is_done = entry.compressed_size == 0 && entry.size == 0;
  // A whole record is read up to the end of the stream, so that a byte beyond its size is noticed.
  while (!is_done && (size < wanted || wanted == entry.size)) {
    if (inflation.is_used_up() && at < entry.compressed_size) {
      compressed = bytes.read_at(record.content + at, static_cast<std::size_t>(std::min<std::uint64_t>(
                                                          buffer.size(), entry.compressed_size - at)));
      if (compressed.empty()) return "it is cut off";
      at += compressed.size();
      inflation.give(compressed);
    }
    const auto taken = inflation.take(buffer.data(), buffer.size());
    if (!taken) return "its compressed bytes are damaged";
    is_done = inflation.is_done();
    if (*taken == 0 && !is_done && inflation.is_used_up() && at == entry.compressed_size)
      return "its compressed bytes end too early";
    count(archive, *taken);
    size += *taken;
    if (size > entry.size) return "it has more bytes than its size says";
    f(std::string_view(buffer.data(), *taken));
  }
  if (is_done && (!inflation.is_used_up() || at != entry.compressed_size))
    return "its compressed bytes end too late";
  return is_done && size != entry.size ? "it has fewer bytes than its size says" : nullptr;
}

bool ZipArchive::is_intact(const Entry& entry, const std::function<void(std::string_view)>& f) const {
  const Record& record = handle_->record_of(*this, entry);
  check_is_there(entry);
  if (entry.crc == 0 && !f) return true;
  std::uint32_t crc = 0;
  const auto take = [&](std::string_view piece) {
    crc = crc_of(piece, crc);
    if (f) f(piece);
  };
  if (record.method != kStored) {
    if (handle_->inflate(*this, entry, entry.size, take) != nullptr) return false;
  } else {
    constexpr std::uint64_t kPiece = 1U << 20;
    for (std::uint64_t at = 0; at < entry.size; at += kPiece) {
      const auto wanted = static_cast<std::size_t>(std::min(kPiece, entry.size - at));
      const std::string piece = handle_->bytes.read_at(record.content + at, wanted);
      if (piece.size() != wanted) return false;
      take(piece);
    }
  }
  return entry.crc == 0 || crc == entry.crc;
}

const std::string& ZipArchive::content_digest(const Entry& entry) const {
  ContentDigests& digests = *handle_->bytes.digests();
  const auto place = handle_->bytes.place(handle_->record_of(*this, entry).content);
  if (const auto known = digests.by_place.find(place); known != digests.by_place.end()) return known->second;
  Sha256 hash;
  std::string name = handle_->prefix + entry.name;
  if (!is_intact(entry, [&](std::string_view piece) { hash.add(piece); }) &&
      std::ranges::find(digests.damaged, name) == digests.damaged.end())
    digests.damaged.push_back(std::move(name));
  return digests.by_place.emplace(place, hash.digits()).first->second;
}

std::string ZipArchive::read(std::string_view name, std::size_t max_bytes) const {
  const Entry* found = Handle::find(*this, name);
  if (found == nullptr) throw input_error("no such record: " + std::string(name));
  return read(*found, max_bytes);
}

std::string ZipArchive::read(const Entry& entry, std::size_t max_bytes) const {
  const Record& record = handle_->record_of(*this, entry);
  const Bytes& archive = handle_->bytes;
  const auto damaged = [&](const char* reason) {
    return misleading(record.header, "record " + quoted(entry.name) + " cannot be read: " + reason);
  };
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(entry.size, max_bytes));
  std::string bytes;
  check_is_there(entry);
  if (record.method == kStored) {
    handle_->count(*this, wanted);
    // One allocation, with a little more room for readers that take several bytes at a time.
    constexpr std::size_t kPadding = 64;
    bytes.reserve(wanted + kPadding);
    bytes.resize(wanted);
    if (archive.read_at(record.content, wanted, bytes.data()) != wanted) throw damaged("it is cut off");
  } else {
    const char* reason =
        handle_->inflate(*this, entry, wanted, [&](std::string_view piece) { bytes += piece; });
    if (reason != nullptr) throw damaged(reason);
    bytes.resize(std::min(bytes.size(), wanted));
  }
  // PyTorch writes a CRC of 0 where it is told to leave it out.
  if (bytes.size() == entry.size && entry.crc != 0 && crc_of(bytes) != entry.crc)
    throw damaged("its checksum differs from that of the directory");
  return bytes;
}

}  // namespace fxtrace::internal
