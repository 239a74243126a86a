// Values for the placeholders of a graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/options.h"
#include "verify/engine.h"
#include "verify/given_inputs.h"

namespace fxtrace::verify {

using Sizes = std::map<std::string, std::int64_t>;  // of named dimensions

// An input that nothing says the value of.
struct MissingInput : RunError {
  explicit MissingInput(const std::string& input)
      : RunError("nothing says what the input " + input + " is"), name(input) {}
  std::string name;
};

// Where the values of a run come from.
enum class InputOrigin { kRandom, kSample, kFile };
const char* to_string(InputOrigin origin);  // "random"

// Values that need not be drawn.
struct GivenInputs {
  GivenValues values;
  InputOrigin origin = InputOrigin::kRandom;  // of these
};

// One set of inputs for each run.  What a file gives is the same in each.  Samples are the first run's, where
// they are what the graph takes.  All else is drawn: a tensor's numbers are normally distributed; integers
// are 0 and 1, or rows of the embedding that they are looked up in; all that follows from the seed.
class InputMaker {
 public:
  // `collection`'s first graph is the one that takes them.
  InputMaker(const Engine& engine, const GraphCollection& collection, const TraceOptions& options,
             std::uint64_t seed, GivenInputs given);

  struct Inputs {
    std::vector<RunValue> values;  // by placeholder
    Sizes sizes;
    InputOrigin origin = InputOrigin::kRandom;
  };
  // The run's sizes of named dimensions are those of what is given, or drawn from their ranges, and such that
  // the graph's guards hold as far as they speak of sizes.  Throws MissingInput, and RunError where a file
  // gives what the graph does not take.
  Inputs make(std::int64_t run) const;

 private:
  bool gives_all() const;
  Sizes given_sizes() const;
  void bind(const Expression& said, std::int64_t actual, Sizes& sizes) const;
  Sizes draw(std::uint64_t seed, int tries) const;  // after so many that did not fit
  bool fits(const Sizes& sizes) const;
  RunValue make_value(const Node& node, std::size_t position, const Sizes& sizes, std::uint64_t seed) const;
  RunValue make_tensor(const std::string& dtype, const std::vector<Expression>& shape, const Sizes& sizes,
                       std::int64_t high, std::uint64_t seed) const;
  RunValue make_container(const Node& node, const Sizes& sizes, std::uint64_t seed) const;
  std::int64_t greatest(NodeId input) const;
  std::optional<std::int64_t> rows_of(const Node& lookup) const;

  const Engine& engine_;
  const GraphCollection& collection_;
  const ModuleGraph& graph_;
  const TraceOptions& options_;
  std::uint64_t seed_;
  GivenInputs given_;
  std::map<std::string, DimensionRange> ranges_;  // of all named dimensions
};

}  // namespace fxtrace::verify
