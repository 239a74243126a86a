// The data of `fxtrace order --fsdp2`: which modules FSDP2 shards by themselves, and what each prefetches.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "summaries/use_order.h"

namespace fxtrace {

// The modules that torch.distributed.fsdp.fully_shard() is applied to.  The root takes what is in none of
// them.
struct FsdpPlan {
  // Repeated blocks: modules beside one another whose names differ in a number, with equal submodules and
  // parameters, such as h.0 and h.1; the outermost, and with them all modules of that class.  Where there are
  // none: modules of one class of the model's own, whose parameters differ; or else equal layers.  In the
  // order of their first calls.
  std::vector<std::string> units;
  // By module what it prefetches: the unit that is called next, or in the backward pass the one called before
  // it.  The root, "", begins both.  Units that are called several times prefetch nothing, as what follows
  // differs.
  std::vector<std::pair<std::string, std::string>> forward, backward;
  struct LeftOut {
    std::string path, reason;
  };
  std::vector<LeftOut> left_out;  // blocks that stay with the root
};

FsdpPlan plan_fsdp(const GraphCollection& collection, const UseOrder& order);

}  // namespace fxtrace
