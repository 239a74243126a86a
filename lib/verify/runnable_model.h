// A model that can run: as its file has it, and as the parts of a traced graph.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "archive/model_file.h"
#include "graph/graph_collection.h"
#include "trace/options.h"
#include "verify/engine.h"
#include "verify/graph_run.h"

namespace fxtrace {
class ExportedProgram;
}

namespace fxtrace::verify {

// One state of the model: what runs may change its buffers.
class RunnableModel : public ModelParts {
 public:
  // The file's own forward, without any of the traced graph.  `inputs` are those of the graph's placeholders,
  // in their order.
  virtual RunValue run_file(const std::vector<RunValue>& inputs) = 0;
  // The buffers of the file, with what was written to them since.
  virtual std::vector<std::pair<std::string, RunValue>> buffers() = 0;
};

// What a model is made from; it outlives the model.
struct ModelSource {
  const Engine& engine;
  ModelFile file;
  std::string root;  // FileInfo::root
  const GraphCollection& collection;
  TraceOptions options;  // that it was traced with
};

// Of an exported program: its own flat graph, operator by operator.  Leaves run the operators that they stand
// for.  `program` is what was traced, and `traced` the graph of that trace, which tells what enters leaves.
std::unique_ptr<RunnableModel> load_program_model(const ModelSource& source, const ExportedProgram& program,
                                                  const ModuleGraph& traced);
// Of a TorchScript archive: torch::jit::load(), and LibTorch's interpreter.
std::unique_ptr<RunnableModel> load_script_model(const ModelSource& source);

}  // namespace fxtrace::verify
