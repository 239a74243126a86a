// Writes Python that applies FSDP2 (torch.distributed.fsdp.fully_shard) to a model, with the prefetches of a
// plan.
#pragma once

#include <ostream>

#include "summaries/fsdp_plan.h"
#include "summaries/use_order.h"

namespace fxtrace {

// Defines shard(model, **options), which takes the options of fully_shard().
void write_order_python(const UseOrder& order, const FsdpPlan& plan, std::ostream& out);

}  // namespace fxtrace
