// From a traced model to a program that torch.export loads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "convert/lower/written_program.h"
#include "graph/graph_collection.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace {

// Something that a program of torch.export cannot say, or that is not known.
struct Refusal {
  std::string module = {};  // path
  std::string what = {};    // an operator, an input: "aten.nonzero.default"
  std::string why = {};
  std::string help = {};  // what would make it possible; may be empty
  std::optional<SourceLocation> source = {};
};

struct LoweringOptions {
  std::vector<DimensionRange> dimensions;     // as of the trace, and the model's own
  std::map<std::string, std::int64_t> hints;  // examples of dimensions, by name
  std::vector<ConcreteArg> concrete;          // as of the trace
  std::string method = "forward";
  // How the inputs are nested where the placeholders are their leaves: a tuple of the positional and the
  // keyword arguments.
  std::optional<TreeSpec> in_spec = {};
  std::vector<std::string> argument_names = {};  // of the positional ones then
  bool functional = false;                       // no operation may write to its arguments
  bool freeze_state = false;                     // attributes that the run changes are as in the file
  std::set<std::size_t> dropped_outputs = {};    // results of the method that are left out
  bool quantized = true;                         // quantized tensors become their integers
  std::vector<std::string> schemas = {};  // of operators that torch does not have: "my::op(int n) -> int"
};

struct Lowered {
  WrittenProgram program;  // not to be written if there are refusals
  std::vector<Refusal> refusals;
  std::vector<std::string> notes;  // what was assumed
};

// Makes a program of the root's graph, in which nothing was kept as a leaf.  Throws Error(kUsage) for hints
// of dimensions that there are not. `model` is what was traced.
Lowered lower(const GraphCollection& collection, const Program& model, const LoweringOptions& options);

}  // namespace fxtrace
