// Inputs that somebody has: files of values, and the sample inputs that exported programs are saved with.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "archive/model_file.h"
#include "graph/graph.h"
#include "verify/engine.h"

namespace fxtrace {
class ExportedProgram;
}

namespace fxtrace::verify {

// As a call has them.
struct CallInputs {
  std::vector<RunValue> positional;
  std::vector<std::pair<std::string, RunValue>> named;
};

// What a file holds: an array of numpy (.npy), several by name (.npz), or what torch.save wrote, which is one
// value, a list or tuple of positional ones, a dict by name, or a pair of both.  Throws RunError.
CallInputs read_inputs(const Engine& engine, const ModelFile& file);

// By placeholder of the graph.
using GivenValues = std::map<std::string, RunValue>;

// Positional ones in the order of the graph's placeholders.  Throws RunError for those that it does not have,
// unless they are among `fixed`.
GivenValues values_for_graph(const CallInputs& inputs, const ModuleGraph& graph,
                             const std::vector<std::string>& fixed);
// The tensors inside of the values, as the program takes them apart.  Throws RunError where they are not
// nested so.
GivenValues values_for_program(const Engine& engine, const CallInputs& inputs,
                               const ExportedProgram& program);
// With which the program was exported; none where the archive has none that LibTorch can read without Python.
GivenValues sample_values(const Engine& engine, const ExportedProgram& program);

}  // namespace fxtrace::verify
