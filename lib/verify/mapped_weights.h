// Loads the tensors of an exported program's archive.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>

#include "exported/exported_archive.h"
#include "verify/engine.h"
#include "verify/file_mappings.h"

namespace fxtrace::verify {

// Maps each record into memory once, copy-on-write.  Tensors are valid as long as this.
class MappedWeights {
 public:
  MappedWeights(const Engine& engine, ModelFile file, const ExportedArchive& archive)
      : engine_(engine), mappings_(std::move(file)), archive_(archive) {}

  // Throws RunError.
  RunValue tensor(const TensorRecord& record);

 private:
  struct Storage {
    void* data = nullptr;
    std::size_t size = 0;
    std::string content;  // of a compressed record
  };
  const Storage& storage(const TensorRecord& record);

  const Engine& engine_;
  FileMappings mappings_;
  const ExportedArchive& archive_;
  std::map<std::string, Storage> storages_;
};

}  // namespace fxtrace::verify
