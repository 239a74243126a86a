// Inputs of a verification: values for the placeholders of a graph, and ranges of indices.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/options/options.h"
#include "verify/calls/engine.h"
#include "verify/calls/graph_run.h"
#include "verify/inputs/given_inputs.h"

namespace fxtrace::internal::verify {

// Inputs of a verification: makes values for the placeholders of a graph.

using Sizes = std::map<std::string, std::int64_t>;  // values of named dimensions

// Thrown for an input whose value nothing determines.
struct MissingInput : RunError {
  explicit MissingInput(const std::string& input)
      : RunError("the input " + input + " has no value: no option, file or default gives one"), name(input) {}
  std::string name;
};

// The source of the values of a run.
enum class InputOrigin { kRandom, kSample, kFile };
const char* to_string(InputOrigin origin);  // "random"

// Values that are given instead of drawn.
struct GivenInputs {
  GivenValues values;
  InputOrigin origin = InputOrigin::kRandom;  // source of the values
};

// Makes a set of inputs for each run.  Values from a file are the same in each run.  Example inputs are used
// in the first run, if they fit the graph.  All others are random, determined by the seed: floats are
// normally distributed; integers are 0 and 1, or rows of the embedding that they index, unless set_range()
// was called.
class InputMaker {
 public:
  // The inputs are for the first graph of `collection`.
  InputMaker(const Engine& engine, const GraphCollection& collection, const TraceOptions& options,
             std::uint64_t seed, GivenInputs given);

  struct Inputs {
    std::vector<RunValue> values;  // by placeholder
    Sizes sizes;
    InputOrigin origin = InputOrigin::kRandom;
  };
  // Makes the inputs of a run.  Sizes of named dimensions are those of given values, or drawn from their
  // ranges so that guards on sizes hold.  Throws MissingInput, and RunError for values of a file that the
  // graph cannot take.
  Inputs make(std::int64_t run) const;

  // The range of integers that are drawn for an input.
  struct DrawnRange {
    std::int64_t low = 0, high = 1;
  };
  // Returns the range of an input; nothing if it is not a tensor of integers.
  std::optional<DrawnRange> range_of(NodeId input) const;
  // Sets the range of an input from now on.
  void set_range(NodeId input, DrawnRange range) { drawn_[input.index] = range; }

 private:
  bool gives_all() const;
  Sizes given_sizes() const;
  void bind_given(Sizes& sizes) const;
  void bind(const Expression& said, std::int64_t actual, Sizes& sizes) const;
  Sizes draw(std::uint64_t seed, int tries) const;  // `tries`: failed attempts so far
  bool fits(const Sizes& sizes) const;
  RunValue make_value(const Node& node, std::size_t position, const Sizes& sizes, std::uint64_t seed) const;
  RunValue make_tensor(const std::string& dtype, const std::vector<Expression>& shape, const Sizes& sizes,
                       DrawnRange range, std::uint64_t seed) const;
  RunValue make_container(const Node& node, const Sizes& sizes, std::uint64_t seed) const;
  DrawnRange drawn_range(NodeId input) const;
  std::optional<std::int64_t> rows_of(const Node& lookup) const;

  const Engine& engine_;
  const GraphCollection& collection_;
  const ModuleGraph& graph_;
  const TraceOptions& options_;
  std::uint64_t seed_;
  GivenInputs given_;
  std::map<std::string, DimensionRange> ranges_;  // ranges of all named dimensions
  std::map<std::uint32_t, DrawnRange> drawn_;     // by input, as set by set_range()
};

// Index ranges: finds ranges for random integers that a graph uses as indices, after any arithmetic: x +
// offset, x * 2, 9 - x.

// Runs the graph.  If a node refuses its indices, the inputs from which they are computed get another range:
// it is shifted if there are negative indices, and halved otherwise.
class IndexRanges {
 public:
  IndexRanges(const Engine& engine, const ModuleGraph& graph, InputMaker& maker)
      : engine_(engine), graph_(graph), maker_(maker) {}

  // Runs the graph with the inputs of that run until it takes them; `seed` seeds random operators.  Returns
  // false, with the ranges restored, if no other range helps.
  bool fit(std::int64_t run, ModelParts& parts, const std::function<void()>& seed);

 private:
  using Ranges = std::vector<std::pair<NodeId, InputMaker::DrawnRange>>;
  struct Extremes {
    double least = 0, greatest = 0;
  };
  // The changes that were tried for a node.
  struct Tried {
    Ranges before;  // the ranges before the last shift
    double least = 0;
    bool has_shifted = false, shifts_fail = false;
    int points = 0;  // how many single numbers were tried
  };

  bool change(const Node& refuses);
  Ranges ranges_before(const Node& node) const;
  void set(const Ranges& ranges);

  const Engine& engine_;
  const ModuleGraph& graph_;
  InputMaker& maker_;
  std::map<std::uint32_t, Extremes> seen_;  // extremes of tensors of integers, by node
  std::map<std::uint32_t, Tried> tried_;    // by node
};

}  // namespace fxtrace::internal::verify
