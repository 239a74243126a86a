// What a call in a vmapped function becomes when it is done for the whole batch: the rules of
// operators/batching.h on the nodes of a graph.
#pragma once

#include "passes/batch_plan.h"
#include "passes/effects.h"

namespace fxtrace {

// Plans a call of an operator that gets a batched value.  Throws CannotBatch.
void batch_operator(const Node& node, const OperatorInfo& info, Semantics& semantics, BatchPlan& plan);

}  // namespace fxtrace
