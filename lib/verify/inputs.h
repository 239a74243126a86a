// Values for the placeholders of a graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "trace/options.h"
#include "verify/engine.h"

namespace fxtrace::verify {

using Sizes = std::map<std::string, std::int64_t>;  // of named dimensions

// An input that nothing says the value of.
struct MissingInput : RunError {
  explicit MissingInput(const std::string& input)
      : RunError("nothing says what the input " + input + " is"), name(input) {}
  std::string name;
};

// One set of inputs for each run.  A tensor's numbers are normally distributed; integers are 0 and 1, or rows
// of the embedding that they are looked up in; both follow from the seed.
class InputMaker {
 public:
  InputMaker(const Engine& engine, const ModuleGraph& graph, const TraceOptions& options, std::uint64_t seed);

  struct Inputs {
    std::vector<RunValue> values;  // by placeholder
    Sizes sizes;
  };
  // The run's sizes of named dimensions are drawn from their ranges, and such that the graph's guards hold as
  // far as they speak of sizes.  Throws MissingInput, RunError.
  Inputs make(std::int64_t run) const;

 private:
  Sizes draw(std::uint64_t seed, int tries) const;  // after so many that did not fit
  bool fits(const Sizes& sizes) const;
  RunValue make_value(const Node& node, std::size_t position, const Sizes& sizes, std::uint64_t seed) const;
  RunValue make_tensor(const std::string& dtype, const std::vector<Expression>& shape, const Sizes& sizes,
                       std::int64_t high, std::uint64_t seed) const;
  RunValue make_container(const Node& node, const Sizes& sizes, std::uint64_t seed) const;
  std::int64_t greatest(NodeId input) const;

  const Engine& engine_;
  const ModuleGraph& graph_;
  const TraceOptions& options_;
  std::uint64_t seed_;
  std::map<std::string, DimensionRange> ranges_;  // of all named dimensions
};

}  // namespace fxtrace::verify
