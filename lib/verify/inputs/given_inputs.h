// Given inputs: reads files of values, and the example inputs of exported programs.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "archive/model_file.h"
#include "graph/graph.h"
#include "verify/calls/engine.h"

namespace fxtrace::internal {
class ExportedProgram;
}

namespace fxtrace::internal::verify {

// The arguments of a call.
struct CallInputs {
  std::vector<RunValue> positional;
  std::vector<std::pair<std::string, RunValue>> named;
};

// Reads a file: a NumPy array (.npy), several by name (.npz), or a file of torch.save with one value, a list
// or tuple of positional arguments, a dict by name, or a pair of the latter two.  Throws RunError.
CallInputs read_inputs(const Engine& engine, const ModelFile& file);

// Values, by placeholder of the graph.
using GivenValues = std::map<std::string, RunValue>;

// Assigns arguments to placeholders; positional ones in the order of the placeholders.  Throws RunError for
// an argument without a placeholder, unless its name is in `fixed`.
GivenValues values_for_graph(const CallInputs& inputs, const ModuleGraph& graph,
                             const std::vector<std::string>& fixed);
// Flattens the arguments as the program does.  Throws RunError when they have another structure.
GivenValues values_for_program(const Engine& engine, const CallInputs& inputs,
                               const ExportedProgram& program);
// Returns the example inputs of the export; empty if the archive has none that LibTorch can read without
// Python.
GivenValues sample_values(const Engine& engine, const ExportedProgram& program);

}  // namespace fxtrace::internal::verify
