// Takes variables out of a graph that the emitter wrote: what is stored and loaded by name becomes values,
// results of branches and values that loops carry, in LibTorch's order (that of the names).  Loops have their
// condition as LibTorch has it, once before the loop and once at the end of each turn.
#pragma once

#include "script/ir.h"

namespace fxtrace::script {

// Statements that exit are gone as well afterwards (exits.h).
void convert_to_ssa(IrGraph& graph);

}  // namespace fxtrace::script
