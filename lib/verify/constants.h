// Constants of a graph as values.
#pragma once

#include <complex>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "archive/model_file.h"
#include "graph/graph.h"
#include "verify/engine.h"

namespace fxtrace::verify {

// An FxtraceRead; the context is a ModelFile.
std::size_t read_file(void* context, std::uint64_t offset, void* to, std::size_t size);

// Reads what constants stand in, and keeps it as long as anything may use it.
class ConstantReader {
 public:
  ConstantReader(const Engine& engine, ModelFile file, std::string root)
      : engine_(engine), file_(std::move(file)), root_(std::move(root)) {}

  // The graph's constant of that name; nothing where it has none.  Throws RunError where the file does not
  // have what it stands for.
  std::optional<RunValue> find(const std::string& name, const ModuleGraph& graph);

 private:
  RunValue read(const Constant& constant);
  RunValue tensor_of(const std::vector<Argument>& data, const Constant& constant);
  RunValue object_of(const Constant& constant);

  const Engine& engine_;
  ModelFile file_;
  std::string root_;
  using ByName = std::unordered_map<std::string, const Constant*>;
  std::unordered_map<const ModuleGraph*, ByName> known_;  // of graphs that were asked for
  std::unordered_map<const Constant*, RunValue> read_;
  std::list<std::vector<std::complex<double>>> numbers_;  // of constants that are known by their elements
  std::unordered_map<std::string, std::string> records_;  // what stands in them
  RunValue all_;  // of the archive's constants, where an object among them was asked for
};

}  // namespace fxtrace::verify
