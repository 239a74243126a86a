// Applies the batching rules of opinfo/batching.h to the nodes of a graph.
#pragma once

#include "analysis/effects.h"
#include "passes/remove_batch_dims/batch_plan.h"

namespace fxtrace::internal {

// Plans a call of an operator that has a batched argument.  Throws CannotBatch when there is no rule for it.
void batch_operator(const Node& node, const OperatorEntry& info, Semantics& semantics, BatchPlan& plan);

// Plan calls of operators over [N, C, ...]: convolutions, pooling, normalization of channels
// (batch_channels.cpp).  The batch is folded into N, or into C when weights are batched, as in torch's own
// rules (ATen/functorch/BatchRulesConvolution.cpp, BatchRulesNorm.cpp).
void batch_pool(const Node& node, const OperatorEntry& info, BatchPlan& plan);
void batch_convolution(const Node& node, const OperatorEntry& info, BatchPlan& plan, bool is_transposed);
void batch_batch_norm(const Node& node, const OperatorEntry& info, BatchPlan& plan);
void batch_group_norm(const Node& node, const OperatorEntry& info, BatchPlan& plan);

}  // namespace fxtrace::internal
