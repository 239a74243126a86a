// Reads records of zip archives, also zip64: stored and deflated records.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/model_file.h"
#include "support/error.h"

namespace fxtrace {

// An open archive.  Only the directory and the records' headers are read at first.  Archives in which readers
// could find different files are refused: the directory has to be right before the only end record, the
// records have to follow each other from the first byte to the directory and to say of themselves what it
// says of them, and no two may have one name, whatever their case and leading slashes.  So are those that are
// built to exhaust time or memory (millions of records, names of many kilobytes, records that together expand
// to many times the file).  Records that are archives themselves (files of torch.save in a model's archive)
// can be opened in place.
class ZipArchive {
 public:
  struct Entry {
    std::string name;
    std::uint64_t size = 0;  // uncompressed
    std::uint32_t crc = 0;   // CRC-32 of the content, as the directory says; 0 where the writer left it out
    std::uint64_t compressed_size = 0;
    bool is_link = false;  // a symbolic link, whose target is the content
  };

  static constexpr std::uint64_t kMaxEntries = 200'000;
  static constexpr std::uint64_t kMaxDirectoryBytes = 64'000'000;
  static constexpr std::size_t kMaxNameLength = 4'096;
  static constexpr std::size_t kMaxCompressedArchive = 64'000'000;
  // The limit of all reads together: a number of bytes, plus a multiple of the archive's size.
  static constexpr std::uint64_t kReadBytes = std::uint64_t{32} << 20;
  static constexpr std::uint64_t kReadTimes = 32;

  // Returns whether the file has a zip end record, wherever the archive starts.
  static bool has_end_record(const ModelFile& file);

  // Throws Error(kInput) for a file that is not a zip, is damaged, or is refused.
  explicit ZipArchive(ModelFile file);
  // Opens a record of another archive, which need not stay open.  A stored record is read in place; a
  // compressed one is held in memory, and refused beyond kMaxCompressedArchive bytes.
  ZipArchive(const ZipArchive& outer, std::string_view record);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  // In the order of the central directory.
  const std::vector<Entry>& entries() const { return entries_; }
  bool contains(std::string_view name) const;
  // Returns the record's size by the directory; 0 when there is none.
  std::uint64_t size(std::string_view name) const;
  // Returns what the record takes in the archive, where it may be compressed; 0 when there is none.
  std::uint64_t stored_size(std::string_view name) const;
  // Returns the record's CRC-32 by the directory; 0 when there is none, or its writer left it out.
  std::uint32_t crc(std::string_view name) const;
  // Returns a short text that is equal for tensors of equal bytes, most likely: the record's CRC-32 and size,
  // and where the tensor begins in it and how it lies there, unless that is from the beginning row by row
  // ("3421780262-4096+16/1,4").  Empty when there is no such record, or its writer left the CRC out.
  std::string content_key(std::string_view name, std::int64_t offset, const std::vector<std::int64_t>& sizes,
                          const std::vector<std::int64_t>& strides) const;
  // Returns the file offset of a stored record's bytes; absent when the record, or an archive around it, is
  // compressed.
  std::optional<std::uint64_t> find_stored(std::string_view name) const;
  // Returns the first `max_bytes` of the record.  Throws Error(kInput) when there is no such record, it is
  // damaged, or the limit of all reads is exceeded.
  std::string read(std::string_view name, std::size_t max_bytes) const;
  // Does the same with one of entries().
  std::string read(const Entry& entry, std::size_t max_bytes) const;
  // Reads one of entries() to its end, and returns whether its content has the CRC-32 of the directory; true
  // where the writer left that out.  Takes little memory unless the record is compressed.  Throws likewise.
  bool is_intact(const Entry& entry) const;

 private:
  struct Handle;
  void open();

  std::unique_ptr<Handle> handle_;
  std::vector<Entry> entries_;
  std::map<std::string_view, std::size_t> index_;  // entries by name in lower case
  mutable std::uint64_t read_ = 0;                 // bytes of all records so far
};

// The bytes of one record of a model's file.
struct RecordBytes {
  std::optional<std::uint64_t> offset;  // in the file; absent where they are compressed there
  std::uint64_t size = 0;
  std::optional<std::uint32_t> crc;  // CRC-32, where the archive says it
  std::string content = {};          // the bytes themselves, without an offset
};
// Throws Error(kInput) when there is no such record, or it is damaged.
RecordBytes bytes_of_record(const ZipArchive& archive, std::string_view name);

// The key of what consists of several tensors, set apart by ";".  Empty where one of them has none.
std::string joined_content_keys(const std::vector<std::string>& keys);

// The one error for an archive in which readers find different files; `what` is the first reason.  Whether it
// is damaged or was made so cannot be told.
Error misleading_archive(const std::string& what);

}  // namespace fxtrace
