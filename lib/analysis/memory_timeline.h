// The memory that a graph holds while it runs, call by call, where all sizes are numbers; find_timeline()
// (costs/graph_costs.h) computes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fxtrace::internal {

struct MemoryTimeline {
  // What happens to memory, in bytes, in a call.
  struct Step {
    std::string node, module, target;  // of the first step, for the inputs: empty
    std::int64_t allocated = 0;        // for results, and inside a leaf
    std::int64_t live = 0;             // while it runs, with arguments and results
    std::int64_t kept = 0;             // after what nobody uses any more was freed
  };
  // A tensor that is live at the peak.
  struct Tensor {
    std::string node, module;  // that made it
    std::int64_t bytes = 0;
    bool is_inside = false;    // what the leaf needs besides its results
    std::size_t made = 0;      // indices of steps
    std::size_t last_use = 0;  // the last step for what lives to the end
  };

  std::vector<Step> steps;      // the inputs, then the calls in the order of execution
  std::size_t peak = 0;         // the first step with the most live bytes
  std::vector<Tensor> tensors;  // those live at the peak, the largest first
};

}  // namespace fxtrace::internal
