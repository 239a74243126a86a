// The tensors of an exported program's archive.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>

#include "archive/model_file.h"
#include "exported/exported_archive.h"
#include "verify/engine.h"

namespace fxtrace::verify {

// Maps records into memory, each once; what is written there stays there.  Tensors live as long as this.
class MappedWeights {
 public:
  MappedWeights(const Engine& engine, ModelFile file, const ExportedArchive& archive)
      : engine_(engine), file_(std::move(file)), archive_(archive) {}
  ~MappedWeights();
  MappedWeights(const MappedWeights&) = delete;
  MappedWeights& operator=(const MappedWeights&) = delete;

  // Throws RunError.
  RunValue tensor(const TensorRecord& record);

 private:
  struct Storage {
    void* data = nullptr;
    std::size_t size = 0;
    void* mapping = nullptr;  // null for one that was compressed
    std::size_t mapped = 0;
    std::string content;
  };
  const Storage& storage(const TensorRecord& record);

  const Engine& engine_;
  ModelFile file_;
  const ExportedArchive& archive_;
  std::map<std::string, Storage> storages_;
};

}  // namespace fxtrace::verify
