// Index ranges: finds ranges for random integers that a graph uses as indices, after any arithmetic: x +
// offset, x * 2, 9 - x.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "verify/calls/graph_run.h"
#include "verify/inputs/inputs.h"

namespace fxtrace::internal::verify {

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
