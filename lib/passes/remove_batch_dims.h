// remove-batch-dims: what torch.vmap does to one sample at a time is done to all of them (batching rules, as
// torch/_functorch and ATen/functorch apply them while they run; here on a graph).
#pragma once

#include "passes/pass.h"

namespace fxtrace {

// Of each outermost vmap all calls of _add_batch_dim, _remove_batch_dim and what opens and closes it go, and
// its operators take the dimensions of the batch in front:
//
//   %a = _add_batch_dim(%x, 0, 1) -> float32[4]        %mul = mul(%x, %y) -> float32[3, 4]
//   %mul = mul(%a, %y) -> float32[4]
//   %r = _remove_batch_dim(%mul, 1, 3, 0)
//
// One stays as it is where something in it has no rule for that (operators/batching.h): random numbers,
// writes, what data decides, unknown operators and modules.
void remove_batch_dims(ModuleGraph& graph, PassContext& context);

}  // namespace fxtrace
