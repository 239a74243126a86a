// Takes `return`, `break` and `continue` out of a graph, as LibTorch does: what follows an exit that may have
// been taken stands in a branch of "has it been taken", and values that are never looked at are
// prim::Uninitialized.
#pragma once

#include "script/ir.h"

namespace fxtrace::script {

void transform_exits(IrGraph& graph);

}  // namespace fxtrace::script
