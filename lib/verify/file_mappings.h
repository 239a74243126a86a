// Parts of a file in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "archive/model_file.h"

namespace fxtrace::verify {

// What is written to the memory stays there.  It lives as long as this.
class FileMappings {
 public:
  explicit FileMappings(ModelFile file) : file_(std::move(file)) {}
  ~FileMappings();
  FileMappings(const FileMappings&) = delete;
  FileMappings& operator=(const FileMappings&) = delete;

  // Null where the file ends before, or the system maps no such file.  Throws std::bad_alloc where there is
  // no room for what could be written.
  void* map(std::uint64_t offset, std::uint64_t size);

 private:
  struct Mapping {
    void* start;
    std::size_t size;
  };

  ModelFile file_;
  std::vector<Mapping> mappings_;
};

}  // namespace fxtrace::verify
