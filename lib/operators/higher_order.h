// Operators that run subgraphs: torch.ops.higher_order.
#pragma once

#include <cstdint>

#include "operators/target.h"

namespace fxtrace {

enum class SubgraphRuns : std::uint8_t {
  kUnknown,
  kOnce,      // as if it stood there: no_grad, autocast, checkpoint
  kOneOf,     // cond: one of several subgraphs
  kRepeated,  // while_loop, scan, map: any number of times, with the operands of the last list the same in
              // each
};

// kUnknown for what is no higher-order operator too.
SubgraphRuns subgraph_runs(const TargetParts& target);

}  // namespace fxtrace
