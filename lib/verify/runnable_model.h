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

namespace fxtrace::verify {

// One state of the model: what runs may change its buffers.
class RunnableModel : public ModelParts {
 public:
  // The file's own forward, without any of the traced graph.  `inputs` are those of the graph's placeholders,
  // in their order.
  virtual RunValue run_file(const std::vector<RunValue>& inputs) = 0;
  // The buffers as they are now.
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

// Of a TorchScript archive: torch::jit::load(), and LibTorch's interpreter.
std::unique_ptr<RunnableModel> load_script_model(const ModelSource& source);

}  // namespace fxtrace::verify
