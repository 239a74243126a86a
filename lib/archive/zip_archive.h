// A reader of zip archives, also zip64, with stored and deflated records.
//
// A zip file says most things twice: sizes and names in a record's header and in the directory, the place of
// the directory in the end record and in that of zip64.  Readers trust different copies, and look for the end
// in different ways, so a file can be built in which PyTorch (miniz, for some parts Python's zipfile) finds
// another model than the one that was looked at.  There must be one reading of one file.  Therefore the
// layout has to be exactly this, without gaps and without overlaps, and whatever is said twice has to agree:
//
//   records     header, name, extra fields, content, and the descriptor (CRC and sizes) if a header has it
//   directory   an entry for each record, in any order
//   end         end record and locator of zip64 (if there), end record, comment
//
// An archive that passes has these invariants; any other is refused with misleading_archive():
// 1. The end record with its comment ends the file, and no second end record's mark stands in the comment.
// 2. The end record of zip64 is right before its locator, which is right before the end record, and both end
//    records agree on the directory.  The archive is on one disk.
// 3. The directory ends where the end records begin, and has as many entries as they say.
// 4. The records lie side by side from the first byte to the directory.
// 5. Each record's header has the entry's name and method, and its sizes and CRC, which only a record with a
//    descriptor may leave out.  Nothing is encrypted.  No extra field gives a record a second name or size.
// 6. No two names are equal after letters are made lower case, '\' is made '/', and leading, empty and "."
//    parts are dropped.  No name has a zero byte.
// 7. A stored record has the same size twice.  A folder has no content.
//
// A file may also be a chain of archives, each of torch.save, one right behind the other: a shard of a
// distributed checkpoint (find_saved_archives()).  Each of them is an archive by these rules.
//
// A file may be a skeleton of one in a store (docs/how-to/stores.md): it has the same size and records, but
// weights are holes, whose bytes are not there.  In place of the first bytes of a hole stands the mark
// "fxtrace: not fetched", as much as the record has room for, ": ", the file's URL and a newline.  So who
// copies a skeleton copies its marks.  All readings of a hole throw; zeros never stand for weights.
//
// Archives beyond the limits below are refused as well (millions of records, long names, records that
// together expand to many times the file).  When an archive is opened only the directory and the headers are
// checked; read() and is_intact() check a record's content against its size and CRC.
//
// Example: model A and model B, each a zip, are concatenated to one file.  The last end record is B's, which
// says that the directory is 200 bytes from byte 1,000 on: places in B.  Python's zipfile takes the
// difference for something in front of the archive and reads B.  Here the directory would have to end at the
// end record, which is at 1,200 plus the size of A: refused by 3.  If B's numbers are corrected to count from
// the beginning of A, the directory fits, and no entry accounts for the bytes of A: refused by 4.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/model_file.h"
#include "support/error.h"

namespace fxtrace::internal {

// A part of a file.
struct FileRange {
  std::uint64_t offset = 0, size = 0;
  bool operator==(const FileRange&) const = default;
};

// An open archive.  Only the directory and the records' headers are read at first.  Records that are archives
// themselves (files of torch.save in a model's archive) can be opened in place.
class ZipArchive {
 public:
  struct Entry {
    std::string name;
    std::uint64_t size = 0;  // uncompressed
    std::uint32_t crc = 0;   // CRC-32 of the content by the directory; 0 where the writer left it out
    std::uint64_t compressed_size = 0;
    bool is_link = false;  // a symbolic link, whose target is the content
  };

  static constexpr std::uint64_t kMaxEntries = 200'000;
  static constexpr std::uint64_t kMaxDirectoryBytes = 64'000'000;
  static constexpr std::size_t kMaxNameLength = 4'096;
  static constexpr std::size_t kMaxCompressedArchive = 64'000'000;
  // The limit of all reads together: kReadBytes (for a part of a file: nothing) plus kReadTimes the archive's
  // size.
  static constexpr std::uint64_t kReadBytes = std::uint64_t{32} << 20;
  static constexpr std::uint64_t kReadTimes = 32;

  // Returns whether the file has a zip end record, wherever the archive starts.
  static bool has_end_record(const ModelFile& file);

  // Throws Error(kInput) for a file that is not a zip, is damaged, or is refused.
  explicit ZipArchive(ModelFile file);
  // Opens a part of a file, one of find_saved_archives().
  ZipArchive(ModelFile file, const FileRange& part);
  // Opens a record of another archive, which need not stay open.  A stored record is read in place; a
  // compressed one is held in memory, and refused beyond kMaxCompressedArchive bytes.
  ZipArchive(const ZipArchive& outer, std::string_view record);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  // Returns the records, in the order of the directory.
  const std::vector<Entry>& entries() const { return entries_; }
  bool contains(std::string_view name) const;
  // Returns the record whose name has the same bytes; null when there is none.  The other functions find
  // names as torch does, without case.
  const Entry* find_exactly(std::string_view name) const;
  // Returns the record's size by the directory; 0 when there is none.
  std::uint64_t size(std::string_view name) const;
  // Returns the bytes that the record takes in the archive, where it may be compressed; 0 when there is none.
  std::uint64_t stored_size(std::string_view name) const;
  // Returns the record's CRC-32 by the directory; 0 when there is none, or its writer left it out.
  std::uint32_t crc(std::string_view name) const;
  // Returns a short text that is most likely equal for tensors of equal bytes only: the record's CRC-32 and
  // size, then the tensor's offset if it is not 0, and its strides if it is not laid out row by row
  // ("3421780262-4096+16/1,4").  Empty when there is no such record, or its writer left the CRC out.  After
  // ModelFile::verify_content() it begins with content_digest() instead, and reads the record.
  std::string content_key(std::string_view name, std::int64_t offset, const std::vector<std::int64_t>& sizes,
                          const std::vector<std::int64_t>& strides) const;
  // Returns the file offset of a stored record's bytes; absent when the record, or an archive around it, is
  // compressed.  Throws Error(kInput) when they are not there, as read() and is_intact() do.
  std::optional<std::uint64_t> find_stored(std::string_view name) const;
  // Returns the first `max_bytes` of the record.  Throws Error(kInput) when there is no such record, it is
  // damaged, or the limit of all reads is exceeded.
  std::string read(std::string_view name, std::size_t max_bytes) const;
  // Does the same with one of entries().
  std::string read(const Entry& entry, std::size_t max_bytes) const;
  // Reads one of entries() to its end, calls f(bytes) for its content in pieces, and returns whether that can
  // be decompressed and has the size and the CRC-32 of the directory, if its writer did not leave that out.
  // Throws Error(kInput) when the limit of all reads is exceeded.
  bool is_intact(const Entry& entry, const std::function<void(std::string_view)>& f = {}) const;
  // Returns the SHA-256 of the content of one of entries(), in digits, for a file after
  // ModelFile::verify_content(), to whose digests it is added: its bytes are read once.  Throws likewise.
  const std::string& content_digest(const Entry& entry) const;
  // Throws Error(kInput) if the bytes of some record are not there.
  void check_is_whole() const;

 private:
  struct Handle;
  void open();
  // Throws Error(kInput) for a record that is a hole.
  void check_is_there(const Entry& entry) const;

  std::unique_ptr<Handle> handle_;
  std::vector<Entry> entries_;
  std::map<std::string_view, std::size_t> index_;  // positions in entries_, by name in lower case
  mutable std::uint64_t read_ = 0;                 // the bytes that all reads have returned so far
};

// Returns the parts of a file that consists of archives of torch.save, one right behind the other, as the
// shards of torch.distributed.checkpoint do: the whole file for a single one; nothing for any other file.
// Reads a few bytes of each archive, from the end of the file to its beginning, as each end record says how
// far before it its archive begins.  They have no comments.
//
// There must be one reading of a chain, too.  miniz, by which torch.load reads a file, counts from the
// beginning of the file where the last end record counts from the beginning of its archive.  What stands
// there must be no directory of that size and number of records, except that of the first archive, which it
// is in a chain whose first and last archive have the same layout.  Python's zipfile reads the last archive.
// Throws Error(kInput) for a chain of more than kMaxChain archives.
inline constexpr std::size_t kMaxChain = 200'000;
std::vector<FileRange> find_saved_archives(const ModelFile& file);

// The bytes of one record of a model's file.
struct RecordBytes {
  std::optional<std::uint64_t> offset;  // in the file; absent where they are compressed there
  std::uint64_t size = 0;
  std::optional<std::uint32_t> crc;  // CRC-32, where the archive has it
  std::string content = {};          // the bytes themselves, without an offset
};
// Throws Error(kInput) when there is no such record, or it is damaged.
RecordBytes bytes_of_record(const ZipArchive& archive, std::string_view name);

// Returns the content keys of several tensors as one key, separated by ";"; empty where one of them is empty.
std::string joined_content_keys(const std::vector<std::string>& keys);

// Returns the error for an archive in which readers find different files; `what` is the first reason.  It
// cannot be told whether the archive is damaged or was made so on purpose.
Error misleading_archive(const std::string& what);

}  // namespace fxtrace::internal
