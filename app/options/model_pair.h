// Reads the two models or collections that a command compares.
#pragma once

#include "app/console.h"
#include "app/output/files.h"
#include "app/process/isolation.h"
#include "graph/graph_collection.h"
#include "trace/options/config.h"

namespace fxtrace::cli {

struct ModelPair {
  GraphCollection& before;
  GraphCollection& after;
};

// Each is as of read_model_or_collection().  An option that files of one kind alone take goes to the model of
// that kind, if the other is a model of another one.  TorchScript beside an exported program is traced as
// torch.export does: with the sizes of that program's inputs, unless options speak of inputs, and into
// functions of torch.nn.functional; but not if more modules fail so.  `isolated` owns both.
ModelPair read_model_pair(const Config& config, const InputFile& first, const InputFile& second,
                          Isolated& isolated, Console& console);

}  // namespace fxtrace::cli
