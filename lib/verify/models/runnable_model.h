// Models that can run: both as the file defines them, and through the parts of a traced graph.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "archive/model_file.h"
#include "graph/graph_collection.h"
#include "trace/options/options.h"
#include "verify/calls/engine.h"
#include "verify/calls/graph_run.h"

namespace fxtrace::internal {
class ExportedProgram;
}

namespace fxtrace::internal::verify {

// A loaded model with its state: runs may change its buffers.
class RunnableModel : public ModelParts {
 public:
  // Runs the file's own forward, independently of the traced graph.  `inputs` are the values of the graph's
  // placeholders, in order.
  virtual RunValue run_file(const std::vector<RunValue>& inputs) = 0;
  // Returns the file's buffers in their current state.
  virtual std::vector<std::pair<std::string, RunValue>> buffers() = 0;
};

// The source of a model, which must outlive it.
struct ModelSource {
  const Engine& engine;
  ModelFile file;
  std::string root;  // FileInfo::root
  const GraphCollection& collection;
  TraceOptions options;  // options of the trace
  // For a model that is compared with the graph of another file: the method to call, and the names of its
  // buffers.
  std::string method = {};
  std::vector<std::string> state = {};
};

// Loads an exported program, whose flat graph is run operator by operator; a leaf runs the operators that it
// stands for.
std::unique_ptr<RunnableModel> load_program_model(const ModelSource& source, const ExportedProgram& program);
// Loads a TorchScript archive with torch::jit::load(), to be run by LibTorch's interpreter.
std::unique_ptr<RunnableModel> load_script_model(const ModelSource& source);

}  // namespace fxtrace::internal::verify
