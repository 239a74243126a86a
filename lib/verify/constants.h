// Constants of a graph as values.
#pragma once

#include <list>
#include <string>

#include "archive/model_file.h"
#include "graph/graph.h"
#include "verify/engine.h"

namespace fxtrace::verify {

// Reads what constants stand in, and keeps it as long as anything may use it.
class ConstantReader {
 public:
  ConstantReader(const Engine& engine, ModelFile file, std::string root)
      : engine_(engine), file_(std::move(file)), root_(std::move(root)) {}

  // Throws RunError for objects, and where the file does not have the bytes.
  RunValue read(const Constant& constant);

 private:
  RunValue tensor_of(const std::vector<Argument>& data, const Constant& constant) const;

  const Engine& engine_;
  ModelFile file_;
  std::string root_;
  std::list<std::string> kept_;
};

}  // namespace fxtrace::verify
