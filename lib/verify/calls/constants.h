// Constants of a graph as values of LibTorch, read from the model's file.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "archive/model_file.h"
#include "archive/zip_archive.h"
#include "graph/graph.h"
#include "verify/calls/engine.h"

namespace fxtrace::internal::verify {

// Reads constants of a graph as values of LibTorch.

// Implements FxtraceRead; `context` is a ModelFile.
std::size_t read_file(void* context, std::uint64_t offset, void* to, std::size_t size);

// Reads constants from the model's file, and owns their memory: values are valid as long as the reader.
class ConstantReader {
 public:
  ConstantReader(const Engine& engine, ModelFile file, std::string root)
      : engine_(engine), file_(std::move(file)), root_(std::move(root)) {}

  // Returns the graph's constant of that name; nothing if there is none.  Throws RunError if the file lacks
  // its content.
  std::optional<RunValue> find_constant(const std::string& name, const ModuleGraph& graph);

 private:
  RunValue read(const Constant& constant);
  RunValue tensor_of(const std::vector<Argument>& data, const Constant& constant);
  RunValue object_of(const Constant& constant);

  const Engine& engine_;
  ModelFile file_;
  std::string root_;
  std::optional<ZipArchive> zip_;  // opened when a record is needed first
  using ByName = std::unordered_map<std::string, const Constant*>;
  std::unordered_map<const ModuleGraph*, ByName> known_;  // constants already read, by graph
  std::unordered_map<const Constant*, RunValue> read_;
  std::list<std::vector<std::complex<double>>> numbers_;  // elements of constants that the graph knows
  std::unordered_map<std::string, std::string> records_;  // contents of records
  RunValue all_;  // the archive's tuple of constants, read when an object in it is needed
};

// Parts of a file mapped into memory, copy-on-write.

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
