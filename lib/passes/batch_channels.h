// Rules for operators over [N, C, ...]: convolutions, pooling, norms of channels.  Samples become more of N,
// and where weights differ from sample to sample more of C, as torch's own rules do it
// (ATen/functorch/BatchRulesConvolution.cpp, BatchRulesNorm.cpp).
#pragma once

#include "passes/batch_plan.h"
#include "passes/effects.h"

namespace fxtrace {

// Plans a call of an operator whose rule is one of these.  Throws CannotBatch.
void batch_channels(const Node& node, const OperatorInfo& info, BatchPlan& plan);

}  // namespace fxtrace
