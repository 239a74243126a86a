// A model's file, opened for reading, and facts about its bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/scope_guard.h"

namespace fxtrace::internal {

// A model's file, opened for reading.

struct ContentDigests;

// The file is opened once and then read through its descriptor, at any offset and by any number of readers,
// so readers need no permission to open files.  Copies share the descriptor.
class ModelFile {
 public:
  // Throws Error(kInput, at the path) when the file does not exist, is not a regular file, or cannot be read.
  ModelFile(std::string path);  // NOLINT: implicit on purpose, a path stands for its file
  // Takes a file that is already open; `path` is its name in messages.
  ModelFile(Descriptor descriptor, std::string path);
  // Makes a file in memory of the bytes.  Throws Error(kInput, at the path) when there is no memory for it.
  static ModelFile of_bytes(std::string_view bytes, std::string path);

  const std::string& path() const { return path_; }  // as given, for messages
  std::string base_name() const;                     // "model.pt"
  std::uint64_t size() const { return size_; }       // in bytes, at the time of opening
  int descriptor() const { return descriptor_->number(); }
  // Returns at most `size` bytes from `offset` on; fewer at the end of the file or on a read error.
  std::string read_at(std::uint64_t offset, std::size_t size) const;
  // Does the same into `to`; returns the number of bytes.
  std::size_t read_at(std::uint64_t offset, std::size_t size, char* to) const;
  // Calls f(bytes) for `size` bytes from `offset` on, in pieces.  Throws Error(kInput, at the path) when the
  // file ends before.
  void for_each_piece(std::uint64_t offset, std::uint64_t size,
                      const std::function<void(std::string_view)>& f) const;
  // Lets archives in this file, and in its copies from here on, tell the content of tensors by the bytes of
  // their records, which are read for that, and not by the checksums (ZipArchive::content_key()).
  void verify_content();
  // Returns the digests so far, which all copies share; null without verify_content().
  const std::shared_ptr<ContentDigests>& digests() const { return digests_; }
  // Returns whether someone has written to the file since it was opened.
  bool has_changed() const;
  // Returns the whole content.  Throws Error(kInput, at the path).
  std::string read_whole() const;

 private:
  void identify();

  std::string path_;
  std::uint64_t size_ = 0;
  std::array<std::int64_t, 4> times_{};  // times of the last changes, when it was opened
  std::shared_ptr<const Descriptor> descriptor_;
  std::shared_ptr<ContentDigests> digests_;
};

// Little-endian integers in the bytes of a file.

// Returns the unsigned integer of `size` bytes (at most 8) that begins at `at`.  All its bytes must be there.
inline std::uint64_t little_endian(std::string_view bytes, std::size_t at, int size) {
  std::uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i)
    value = (value << 8) | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

// What is known of the bytes of records: their digests, and the records whose bytes are not what the archive
// says.

// A record whose bytes are not what the archive says of them, as content_check.h finds it and the rule of
// `check --verify-content` judges it.
struct ContentFault {
  std::string
      record;  // its name, "a.pt/data.pkl" within an archive in the archive; empty for the file itself
  std::string message;
  bool is_undecided = false;  // there is no checksum
};
inline constexpr char kWrongBytes[] = "its bytes do not match their checksum in the archive";

// The digests of records that were read, of all archives in a file.
struct ContentDigests {
  // SHA-256 as digits, by place: 0, or the number of an archive in memory; and the offset there.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> by_place;
  std::uint64_t memories = 0;        // archives in memory so far
  std::vector<std::string> damaged;  // the names of records whose bytes do not match their checksum
};

}  // namespace fxtrace::internal
