// fold-constants: numbers that are known stand where the nodes that compute them stood.
#pragma once

#include "passes/pass.h"

namespace fxtrace {

// What Python computes from plain numbers, sizes and ranks that are known, items of a list that stands there,
// and numbers that traced code makes a tensor of and reads back.  Tensors are not computed.  Of a cond whose
// condition is known the branch that it takes stands in its place (see taken_branch.h).
void fold_constants(ModuleGraph& graph, PassContext& context);

}  // namespace fxtrace
