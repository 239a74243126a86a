// Parts of a file mapped into memory, copy-on-write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "archive/model_file.h"

namespace fxtrace::internal::verify {

// Owns the mappings.  Writes to the memory do not reach the file.
class FileMappings {
 public:
  explicit FileMappings(ModelFile file) : file_(std::move(file)) {}
  ~FileMappings();
  FileMappings(const FileMappings&) = delete;
  FileMappings& operator=(const FileMappings&) = delete;

  // Returns null when the range exceeds the file, or the system cannot map the file.  Throws std::bad_alloc
  // when there is not enough memory for all possible writes.
  void* map(std::uint64_t offset, std::uint64_t size);

 private:
  struct Mapping {
    void* start;
    std::size_t size;
  };

  ModelFile file_;
  std::vector<Mapping> mappings_;
};

}  // namespace fxtrace::internal::verify
