// Read access to the records of a zip archive: zip64, deflated and stored records, anything in between.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "archive/model_file.h"

namespace fxtrace {

// Only the central directory is read until a record is asked for.  Archives that are
// made to exhaust time or memory (millions of records, names of many kilobytes, records that together grow to
// many times the file) are refused.  Records that are archives themselves (what torch.save wrote into a
// model's archive) can be opened where they stand.
class ZipArchive {
 public:
  struct Entry {
    std::string name;
    std::uint64_t size = 0;  // uncompressed
  };

  static constexpr std::uint64_t kMaxEntries = 200'000;
  static constexpr std::uint64_t kMaxDirectoryBytes = 64'000'000;
  static constexpr std::size_t kMaxNameLength = 4'096;
  static constexpr std::size_t kMaxCompressedArchive = 64'000'000;
  // All that is read of an archive: so many bytes, and so many times its size.
  static constexpr std::uint64_t kReadBytes = std::uint64_t{32} << 20;
  static constexpr std::uint64_t kReadTimes = 32;

  // Whether the file has a zip's end record, wherever it starts.
  static bool has_end_record(const ModelFile& file);

  // Throws Error(kInput): not a zip, damaged, or refused.
  explicit ZipArchive(ModelFile file);
  // A record of another archive, which need not stay open.  A stored record is read where it stands in the
  // file; a compressed one is held in memory, and refused when it has more than kMaxCompressedArchive bytes.
  ZipArchive(const ZipArchive& outer, std::string_view record);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  // In the order of the central directory.
  const std::vector<Entry>& entries() const { return entries_; }
  bool contains(std::string_view name) const;
  // What the directory says; 0 for a record that is not there.
  std::uint64_t size(std::string_view name) const;
  // Offset in the file at which a stored record's bytes stand; absent for a compressed record (in any archive
  // around it, too) and where the file does not bear out what its directory says.  The bytes may reach beyond
  // the end of a damaged file.
  std::optional<std::uint64_t> find_stored(std::string_view name) const;
  // The first `max_bytes` of the record.  Throws Error(kInput) when there is no such record, it is damaged,
  // or more has been read of the archive than one of its size has to say.
  std::string read(std::string_view name, std::size_t max_bytes) const;

 private:
  struct Handle;
  void open();

  std::unique_ptr<Handle> handle_;
  std::vector<Entry> entries_;
  std::vector<std::optional<std::uint64_t>> headers_;        // by entry: of stored records
  std::unordered_map<std::string_view, std::size_t> index_;  // first entry of each name; views into entries_
  mutable std::uint64_t read_ = 0;                           // bytes of all records so far
};

}  // namespace fxtrace
