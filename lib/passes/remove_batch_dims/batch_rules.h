// What a call in a vmapped function becomes when it is done for the whole batch: the rules of
// operators/batching.h on the nodes of a graph.
#pragma once

#include "passes/remove_batch_dims/batch_plan.h"
#include "passes/support/effects.h"

namespace fxtrace {

// Plans a call of an operator that gets a batched value.  Throws CannotBatch.
void batch_operator(const Node& node, const OperatorInfo& info, Semantics& semantics, BatchPlan& plan);

// Those of operators over [N, C, ...]: convolutions, pooling, norms of channels (batch_channels.cpp). Samples
// become more of N, and where weights differ from sample to sample more of C, as torch's own rules do it
// (ATen/functorch/BatchRulesConvolution.cpp, BatchRulesNorm.cpp).
void batch_channels(const Node& node, const OperatorInfo& info, BatchPlan& plan);

}  // namespace fxtrace
