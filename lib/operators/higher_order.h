// Higher-order operators, which run subgraphs: torch.ops.higher_order.
#pragma once

#include <cstdint>

#include "operators/target.h"

namespace fxtrace::internal {

enum class SubgraphRuns : std::uint8_t {
  kUnknown,
  kOnce,      // once, as if inlined: no_grad, autocast, checkpoint
  kOneOf,     // one of several subgraphs: cond
  kRepeated,  // while_loop, scan, map: any number of times, with the operands of the last list the same in
              // each
};

// Returns how the target runs its subgraphs; kUnknown also for targets that are not higher-order operators.
SubgraphRuns subgraph_runs(const TargetParts& target);

// Returns whether the target runs its one subgraph in place, only in another mode or with checkpoints: it
// computes what the subgraph's nodes would compute in the outer graph.
bool is_region(const TargetParts& target);

}  // namespace fxtrace::internal
