#include "archive/zip_archive.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <zip.h>

#include "archive/little_endian.h"
#include "support/error.h"

namespace fxtrace {
namespace {

constexpr std::size_t kEndSize = 22;
constexpr std::size_t kMaxComment = 65'535;
constexpr std::size_t kZip64LocatorSize = 20;
constexpr std::size_t kZip64EndSize = 56;
constexpr std::size_t kDirectoryEntrySize = 46;

// The bytes of an archive: of a file, of a part of a file, or in memory.
class Bytes {
 public:
  explicit Bytes(ModelFile file) : file_(std::move(file)), size_(file_->size()) {}
  Bytes(const Bytes& outer, std::uint64_t start, std::uint64_t size)
      : file_(outer.file_),
        start_(std::min(start, file_->size())),
        size_(std::min(size, file_->size() - start_)) {}
  explicit Bytes(std::string memory) : memory_(std::move(memory)), size_(memory_.size()) {}

  bool is_file() const { return file_.has_value(); }
  std::uint64_t start() const { return start_; }  // in the file
  std::uint64_t size() const { return size_; }
  // Fewer bytes where the archive ends.
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
  std::uint64_t start_ = 0, size_ = 0;
};

// What libzip reads an archive through: a cursor over its bytes.  libzip asks for some tens of bytes at a
// time, thousands of times, so more is read ahead.
class Source {
 public:
  // Null where libzip has no memory.  `bytes` must outlive the source.
  static zip_source_t* make(const Bytes& bytes, zip_error_t* error) {
    auto source = std::make_unique<Source>(bytes);
    zip_source_t* made = zip_source_function_create(&Source::call, source.get(), error);
    static_cast<void>(made != nullptr ? source.release() : nullptr);  // libzip frees it
    return made;
  }
  explicit Source(const Bytes& bytes) : bytes_(bytes) { zip_error_init(&error_); }

 private:
  static zip_int64_t call(void* self, void* data, zip_uint64_t size, zip_source_cmd_t command) {
    auto* source = static_cast<Source*>(self);
    if (command == ZIP_SOURCE_FREE) {
      delete source;
      return 0;
    }
    return source->answer(data, size, command);
  }

  zip_int64_t answer(void* data, zip_uint64_t size, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_OPEN:
        position_ = 0;
        return 0;
      case ZIP_SOURCE_READ: {
        const std::size_t taken = read(static_cast<std::size_t>(size), static_cast<char*>(data));
        position_ += taken;
        return static_cast<zip_int64_t>(taken);
      }
      case ZIP_SOURCE_SEEK: {
        const zip_int64_t place =
            zip_source_seek_compute_offset(position_, bytes_.size(), data, size, &error_);
        if (place < 0) return -1;
        position_ = static_cast<std::uint64_t>(place);
        return 0;
      }
      case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(position_);
      case ZIP_SOURCE_STAT: {
        auto* stat = static_cast<zip_stat_t*>(data);
        zip_stat_init(stat);
        stat->size = bytes_.size();
        stat->valid = ZIP_STAT_SIZE;
        return sizeof *stat;
      }
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&error_, data, size);
      case ZIP_SOURCE_CLOSE:
        return 0;
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                              ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
      default:
        zip_error_set(&error_, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
  }

  // Fewer bytes where the archive ends.
  std::size_t read(std::size_t size, char* to) {
    constexpr std::size_t kAhead = 1 << 12;
    if (size >= kAhead) return bytes_.read_at(position_, size, to);
    const bool is_known = position_ >= ahead_from_ && position_ - ahead_from_ <= ahead_.size() &&
                          size <= ahead_.size() - (position_ - ahead_from_);
    if (!is_known) {
      ahead_ = bytes_.read_at(position_, kAhead);
      ahead_from_ = position_;
    }
    return ahead_.copy(to, size, position_ - ahead_from_);
  }

  const Bytes& bytes_;
  std::uint64_t position_ = 0;
  std::string ahead_;  // what was read last
  std::uint64_t ahead_from_ = 0;
  zip_error_t error_;
};

struct Directory {
  std::uint64_t offset = 0, size = 0, entries = 0;
};

std::optional<Directory> find_directory(const Bytes& file) {
  const std::uint64_t file_size = file.size();
  if (file_size < kEndSize) return std::nullopt;
  std::string tail;
  std::size_t at = std::string::npos;
  // Hardly any archive ends with a comment, which the record would stand before.
  for (const std::size_t comment : {std::size_t{0}, kMaxComment}) {
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(file_size, kZip64LocatorSize + kEndSize + comment));
    tail = file.read_at(file_size - size, size);
    if (tail.size() < kEndSize) return std::nullopt;
    at = tail.rfind("PK\x05\x06", tail.size() - kEndSize);
    if (at != std::string::npos && at >= kZip64LocatorSize) break;
  }
  if (at == std::string::npos) return std::nullopt;
  Directory directory;
  directory.entries = little_endian(tail, at + 10, 2);
  directory.size = little_endian(tail, at + 12, 4);
  directory.offset = little_endian(tail, at + 16, 4);
  if (at >= kZip64LocatorSize && tail.compare(at - kZip64LocatorSize, 4, "PK\x06\x07") == 0) {
    const std::uint64_t zip64_offset = little_endian(tail, at - kZip64LocatorSize + 8, 8);
    const std::string zip64 = file.read_at(zip64_offset, kZip64EndSize);
    if (zip64.size() == kZip64EndSize && zip64.compare(0, 4, "PK\x06\x06") == 0) {
      directory.entries = little_endian(zip64, 32, 8);
      directory.size = little_endian(zip64, 40, 8);
      directory.offset = little_endian(zip64, 48, 8);
    }
  }
  if (directory.offset > file_size || directory.size > file_size - directory.offset) {
    throw input_error("this is a damaged zip archive: its central directory points outside the file");
  }
  return directory;
}

// What an entry of the central directory says that libzip does not.
struct DirectoryEntry {
  std::optional<std::uint64_t> header;  // offset of the record's own
  bool is_stored = false;               // neither compressed nor encrypted
  bool is_link = false;
};

// `at`: the entry's place in `bytes`.
std::optional<std::uint64_t> header_of(std::string_view bytes, std::size_t at) {
  constexpr std::uint64_t kInZip64Field = 0xFFFFFFFF;
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

DirectoryEntry directory_entry(std::string_view bytes, std::size_t at) {
  constexpr std::uint64_t kUnix = 3;
  constexpr std::uint64_t kTypeMask = 0xF000;
  constexpr std::uint64_t kLink = 0xA000;
  DirectoryEntry entry;
  entry.header = header_of(bytes, at);
  const bool encrypted = (little_endian(bytes, at + 8, 2) & 1) != 0;
  entry.is_stored = little_endian(bytes, at + 10, 2) == 0 && !encrypted;
  entry.is_link = little_endian(bytes, at + 5, 1) == kUnix &&
                  ((little_endian(bytes, at + 38, 4) >> 16) & kTypeMask) == kLink;
  return entry;
}

// libzip reads the whole directory and files every name in a hash table when it opens an archive, so what
// could make that slow is refused before.
std::vector<DirectoryEntry> check_directory(const Bytes& file, const Directory& directory) {
  if (directory.entries > ZipArchive::kMaxEntries || directory.size > ZipArchive::kMaxDirectoryBytes) {
    throw input_error("refusing this zip archive: it has " + std::to_string(directory.entries) +
                      " records (at most " + std::to_string(ZipArchive::kMaxEntries) +
                      ") in a directory of " + std::to_string(directory.size) + " bytes (at most " +
                      std::to_string(ZipArchive::kMaxDirectoryBytes) + ")");
  }
  const std::string bytes = file.read_at(directory.offset, static_cast<std::size_t>(directory.size));
  // Names that fall into the same few buckets of libzip's table would make opening quadratic.
  constexpr std::size_t kBuckets = 65'536;
  constexpr std::uint32_t kMaxBucket = 1'000;
  const bool may_collide = bytes.size() / kDirectoryEntrySize > kMaxBucket;  // few records cannot
  std::vector<std::uint32_t> buckets(may_collide ? kBuckets : 0);
  std::vector<DirectoryEntry> entries;
  std::size_t at = 0;
  while (at + kDirectoryEntrySize <= bytes.size() && bytes.compare(at, 4, "PK\x01\x02") == 0) {
    const auto name = static_cast<std::size_t>(little_endian(bytes, at + 28, 2));
    const auto extra = static_cast<std::size_t>(little_endian(bytes, at + 30, 2));
    const auto comment = static_cast<std::size_t>(little_endian(bytes, at + 32, 2));
    if (name > ZipArchive::kMaxNameLength) {
      throw input_error("refusing this zip archive: a record's name has " + std::to_string(name) +
                        " bytes (at most " + std::to_string(ZipArchive::kMaxNameLength) + ")");
    }
    if (entries.size() == ZipArchive::kMaxEntries) {
      throw input_error("refusing this zip archive: more than " + std::to_string(ZipArchive::kMaxEntries) +
                        " records");
    }
    std::uint32_t hash = 5381;
    for (const char c : std::string_view(bytes).substr(at + kDirectoryEntrySize, may_collide ? name : 0))
      hash = hash * 33 + static_cast<unsigned char>(c);
    if (may_collide && ++buckets[hash % kBuckets] > kMaxBucket) {
      throw input_error("refusing this zip archive: its record names are crafted to collide");
    }
    entries.push_back(directory_entry(bytes, at));
    at += kDirectoryEntrySize + name + extra + comment;
  }
  return entries;
}

}  // namespace

struct ZipArchive::Handle {
  explicit Handle(Bytes from) : bytes(std::move(from)) {}
  ~Handle() {
    if (zip != nullptr) zip_discard(zip);
  }
  Bytes bytes;
  zip_t* zip = nullptr;
};

bool ZipArchive::has_end_record(const ModelFile& file) {
  try {
    return find_directory(Bytes(file)).has_value();
  } catch (const Error&) {
    return true;  // an end record there is, though a wrong one
  }
}

ZipArchive::ZipArchive(ModelFile file) : handle_(std::make_unique<Handle>(Bytes(std::move(file)))) { open(); }

ZipArchive::ZipArchive(const ZipArchive& outer, std::string_view record) {
  const auto found = outer.index_.find(record);
  if (found == outer.index_.end()) throw input_error("no such record: " + std::string(record));
  if (const auto start = outer.find_stored(record)) {
    handle_ =
        std::make_unique<Handle>(Bytes(outer.handle_->bytes, *start, outer.entries_[found->second].size));
  } else {
    handle_ = std::make_unique<Handle>(Bytes(outer.read(record, kMaxCompressedArchive + 1)));
    if (handle_->bytes.size() > kMaxCompressedArchive) {
      throw input_error("record " + std::string(record) + " is refused: it is compressed and larger than " +
                        std::to_string(kMaxCompressedArchive) + " bytes");
    }
  }
  open();
}

void ZipArchive::open() {
  const auto directory = find_directory(handle_->bytes);
  if (!directory) throw input_error("this is not a zip archive, or its end is missing");
  directory_offset_ = directory->offset;
  const std::vector<DirectoryEntry> listed = check_directory(handle_->bytes, *directory);
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = Source::make(handle_->bytes, &error);
  if (source != nullptr) handle_->zip = zip_open_from_source(source, ZIP_RDONLY, &error);
  const std::string message = handle_->zip == nullptr ? zip_error_strerror(&error) : "";
  zip_error_fini(&error);
  if (handle_->zip == nullptr) {
    if (source != nullptr) zip_source_free(source);
    throw input_error("this is a damaged zip archive: " + message);
  }

  const zip_int64_t count = zip_get_num_entries(handle_->zip, 0);
  entries_.reserve(static_cast<std::size_t>(std::max<zip_int64_t>(count, 0)));
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    Entry entry;
    if (zip_stat_index(handle_->zip, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW, &stat) == 0) {
      if ((stat.valid & ZIP_STAT_NAME) != 0) entry.name = stat.name;
      if ((stat.valid & ZIP_STAT_SIZE) != 0) entry.size = stat.size;
      if ((stat.valid & ZIP_STAT_CRC) != 0) entry.crc = stat.crc;
      if ((stat.valid & ZIP_STAT_COMP_SIZE) != 0) entry.compressed_size = stat.comp_size;
    }
    // libzip numbers the records as the directory lists them.
    const bool is_listed = listed.size() == static_cast<std::size_t>(count);
    const DirectoryEntry more = is_listed ? listed[static_cast<std::size_t>(i)] : DirectoryEntry{};
    entry.header = more.header;
    entry.is_link = more.is_link;
    stored_.push_back(more.is_stored && more.header);
    entries_.push_back(std::move(entry));
  }
  index_.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].name, i);
}

ZipArchive::~ZipArchive() = default;

std::optional<std::uint64_t> ZipArchive::find_stored(std::string_view name) const {
  constexpr std::size_t kLocalHeaderSize = 30;
  const auto found = index_.find(name);
  if (found == index_.end() || !stored_[found->second]) return std::nullopt;
  const Bytes& bytes = handle_->bytes;
  if (!bytes.is_file()) return std::nullopt;
  const std::uint64_t header = *entries_[found->second].header;
  const std::string local = bytes.read_at(header, kLocalHeaderSize);
  if (local.size() != kLocalHeaderSize || local.compare(0, 4, "PK\x03\x04") != 0) return std::nullopt;
  return bytes.start() + header + kLocalHeaderSize + little_endian(local, 26, 2) +
         little_endian(local, 28, 2);
}

std::optional<std::string> ZipArchive::find_name_in_header(const Entry& entry) const {
  constexpr std::size_t kLocalHeaderSize = 30;
  if (!entry.header) return std::nullopt;
  const std::string header = handle_->bytes.read_at(*entry.header, kLocalHeaderSize + kMaxNameLength);
  if (header.size() < kLocalHeaderSize || header.compare(0, 4, "PK\x03\x04") != 0) return std::nullopt;
  const auto length = static_cast<std::size_t>(little_endian(header, 26, 2));
  return header.substr(kLocalHeaderSize, length);
}

std::optional<std::uint64_t> ZipArchive::find_content(const Entry& entry) const {
  constexpr std::size_t kLocalHeaderSize = 30;
  if (!entry.header) return std::nullopt;
  const std::string header = handle_->bytes.read_at(*entry.header, kLocalHeaderSize);
  if (header.size() < kLocalHeaderSize || header.compare(0, 4, "PK\x03\x04") != 0) return std::nullopt;
  return *entry.header + kLocalHeaderSize + little_endian(header, 26, 2) + little_endian(header, 28, 2);
}

bool ZipArchive::contains(std::string_view name) const { return index_.count(name) != 0; }

std::uint64_t ZipArchive::size(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? 0 : entries_[found->second].size;
}

std::string ZipArchive::content_key(std::string_view name, std::int64_t offset) const {
  const auto found = index_.find(name);
  if (found == index_.end() || entries_[found->second].crc == 0) return {};
  const Entry& entry = entries_[found->second];
  std::string key = std::to_string(entry.crc) + "-" + std::to_string(entry.size);
  return offset == 0 ? key : key + "+" + std::to_string(offset);
}

std::string ZipArchive::read(std::string_view name, std::size_t max_bytes) const {
  const auto found = index_.find(name);
  if (found == index_.end()) throw input_error("no such record: " + std::string(name));
  return read(entries_[found->second], max_bytes);
}

std::string ZipArchive::read(const Entry& entry, std::size_t max_bytes) const {
  const auto place = static_cast<std::size_t>(&entry - entries_.data());
  const auto damaged = [&](const char* reason) {
    return input_error("this is a damaged zip archive: record " + entry.name + " cannot be read: " + reason);
  };
  zip_file_t* file = zip_fopen_index(handle_->zip, place, 0);
  if (file == nullptr) throw damaged(zip_error_strerror(zip_get_error(handle_->zip)));
  std::string bytes;
  // Once, where the size is no mere claim, and a little more, for what reads a text some bytes at a time.
  constexpr std::uint64_t kPadding = 64;
  const std::uint64_t size = std::min<std::uint64_t>(entry.size, max_bytes);
  if (stored_[place] && size <= handle_->bytes.size()) bytes.reserve(size + kPadding);
  std::array<char, 1 << 16> buffer;
  std::string failure;
  const std::uint64_t allowed = kReadBytes + kReadTimes * handle_->bytes.size();
  while (bytes.size() < max_bytes) {
    const auto read = zip_fread(file, buffer.data(), std::min(buffer.size(), max_bytes - bytes.size()));
    if (read < 0) failure = zip_error_strerror(zip_file_get_error(file));
    if (read <= 0) break;
    bytes.append(buffer.data(), static_cast<std::size_t>(read));
    read_ += static_cast<std::uint64_t>(read);
    if (read_ > allowed) break;
  }
  zip_fclose(file);
  if (read_ > allowed) {
    throw input_error("refusing this zip archive: its records grow to more than " +
                          std::to_string(kReadTimes) + " times its " + std::to_string(handle_->bytes.size()) +
                          " bytes",
                      {"if it is what it should be, write it without compression"});
  }
  if (!failure.empty()) throw damaged(failure.c_str());
  return bytes;
}

}  // namespace fxtrace
