// Finds ranges for integers that the graph uses as indices, behind whatever arithmetic: x + offset, x * 2, 9
// - x.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "verify/calls/graph_run.h"
#include "verify/inputs/inputs.h"

namespace fxtrace::verify {

// The graph is run, and where a node refuses its indices, the inputs that these are made from get another
// range: it is shifted where there are negative indices, and halved where there are none.
class IndexRanges {
 public:
  IndexRanges(const Engine& engine, const ModuleGraph& graph, InputMaker& maker)
      : engine_(engine), graph_(graph), maker_(maker) {}

  // Runs the graph with inputs of that run, which `seed` makes the same for random operators, until it takes
  // them.  Returns false, with the ranges as they were, where another range does not help.
  bool fit(std::int64_t run, ModelParts& parts, const std::function<void()>& seed);

 private:
  using Ranges = std::vector<std::pair<NodeId, InputMaker::DrawnRange>>;
  struct Extremes {
    double least = 0, greatest = 0;
  };
  // What was tried for a node.
  struct Tried {
    Ranges before;  // the last shift
    double least = 0;
    bool has_shifted = false, shifts_fail = false;
    int points = 0;  // single numbers
  };

  bool change(const Node& refuses);
  Ranges ranges_before(const Node& node) const;
  void set(const Ranges& ranges);

  const Engine& engine_;
  const ModuleGraph& graph_;
  InputMaker& maker_;
  std::map<std::uint32_t, Extremes> seen_;  // by node: tensors of integers
  std::map<std::uint32_t, Tried> tried_;    // by node
};

}  // namespace fxtrace::verify
