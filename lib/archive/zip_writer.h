// A writer of zip archives with stored records, laid out as PyTorch's writer does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "archive/model_file.h"

namespace fxtrace::internal {

// An archive that is written to a stream from its first byte to its last.  Its bytes do not depend on the
// time.
class ZipWriter {
 public:
  // `out` must outlive this.
  explicit ZipWriter(std::ostream& out) : out_(out) {}

  // Names must differ, also without regard to case.
  void add(const std::string& name, std::string_view content);
  // Adds `size` bytes of a file, from `offset` on, in pieces.  `crc` is their CRC-32; without it the bytes
  // are read twice.  Throws Error(kInput, at the file's path) when they cannot be read.
  void add(const std::string& name, const ModelFile& file, std::uint64_t offset, std::uint64_t size,
           std::optional<std::uint32_t> crc);
  // Adds what `write` writes, which has to be the same each of the two times: for its size and CRC-32, and
  // here.
  void add(const std::string& name, const std::function<void(std::ostream&)>& write);
  // Writes the directory; nothing can be added behind it.
  void finish();

 private:
  struct Record {
    std::string name;
    std::uint64_t size = 0, place = 0;
    std::uint32_t crc = 0;
  };

  void begin(const std::string& name, std::uint64_t size, std::uint32_t crc);
  void write(std::string_view bytes);

  std::ostream& out_;
  std::uint64_t place_ = 0;  // bytes written so far
  std::vector<Record> records_;
};

}  // namespace fxtrace::internal
