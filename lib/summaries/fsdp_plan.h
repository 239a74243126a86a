// The data of `fxtrace order --fsdp2`: the modules that FSDP2 shards by themselves, and the prefetches of
// each.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "summaries/use_order.h"

namespace fxtrace::internal {

// The modules that torch.distributed.fsdp.fully_shard() is applied to.  Parameters outside of them stay with
// the root.
struct FsdpPlan {
  // Repeated blocks in the order of their first calls: siblings whose names differ in a number, with equal
  // submodules and parameters, such as h.0 and h.1; the outermost ones, and all modules of their class.  If
  // there are none: siblings of one class of the model whose parameters differ; else equal layers.
  std::vector<std::string> units;
  // Pairs of a module and the unit that it prefetches: the unit that is called next, or in the backward pass
  // the one called before it.  The root, "", begins both.  Units that are called several times prefetch
  // nothing, because different units follow.
  std::vector<std::pair<std::string, std::string>> forward, backward;
  struct LeftOut {
    std::string path, reason;
  };
  std::vector<LeftOut> left_out;  // blocks that stay with the root
};

FsdpPlan plan_fsdp(const GraphCollection& collection, const UseOrder& order);

}  // namespace fxtrace::internal
