// What LibTorch's compiler does to a graph after it was written: bodies of fork become graphs of their own,
// tuples that are taken apart at once vanish, branches that are decided and results that nobody uses go,
// constants stand once at the start, and results stand in the order of their use.
#pragma once

#include "script/ir.h"

namespace fxtrace::script {

void clean_up(IrGraph& graph);

// Nodes that do nothing and that nobody uses go.
void remove_dead_code(IrGraph& graph);

}  // namespace fxtrace::script
