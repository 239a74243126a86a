// A regular file that is open for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "support/descriptor.h"

namespace fxtrace {

// Opened once, and read through the one descriptor from then on, at any place and by any number of readers:
// whoever has it needs no right to open files.  Copies share the descriptor.
class ModelFile {
 public:
  // Throws Error(kInput, at the path) when there is no such file, when it is a directory or no regular file,
  // and when it cannot be read.
  ModelFile(std::string path);  // NOLINT: implicit on purpose, a path stands for its file

  const std::string& path() const { return path_; }  // as it was given, for messages
  std::uint64_t size() const { return size_; }       // in bytes, when it was opened
  int descriptor() const { return descriptor_->number(); }
  // The bytes from `offset` on, at most `size` of them; fewer where the file ends or cannot be read.
  std::string read_at(std::uint64_t offset, std::size_t size) const;
  // All of them.  Throws Error(kInput, at the path).
  std::string read_whole() const;

 private:
  std::string path_;
  std::uint64_t size_ = 0;
  std::shared_ptr<const Descriptor> descriptor_;
};

}  // namespace fxtrace
