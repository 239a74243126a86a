// Reads the two models or collections that a command compares.
#pragma once

#include "graph/graph_collection.h"
#include "pipelines/read_model.h"
#include "trace/options/config.h"

namespace fxtrace::internal {

struct ModelPair {
  GraphCollection& before;
  GraphCollection& after;
};

// Reads or traces each as read_model_or_collection() does.  An option that only one kind of file takes goes
// to the model of that kind, if the two models are of different kinds.  TorchScript beside an exported
// program is traced as torch.export does: with the sizes of that program's inputs (unless options give
// inputs), and with functions of torch.nn.functional traced into; but without this, if more modules fail to
// trace with it.  `run` owns both.
ModelPair read_model_pair(const Config& config, const NamedFile& first, const NamedFile& second, Run& run);

}  // namespace fxtrace::internal
