// What becomes of a graph that the emitter wrote, step by step, as in LibTorch's compiler.
#pragma once

#include <optional>

#include "script/ir.h"

namespace fxtrace::script {

// Takes variables out (ssa.cpp): what is stored and loaded by name becomes values, results of branches and
// values that loops carry, in LibTorch's order (that of the names).  Loops have their condition as LibTorch
// has it, once before the loop and once at the end of each turn.  Exits are gone as well afterwards.
void convert_to_ssa(IrGraph& graph);

// Takes `return`, `break` and `continue` out (exits.cpp): what follows an exit that may have been taken
// stands in a branch of "has it been taken", and values that are never looked at are prim::Uninitialized.
void transform_exits(IrGraph& graph);

// What LibTorch does last (cleanup.cpp): bodies of fork become graphs of their own, tuples that are taken
// apart at once vanish, branches that are decided and results that nobody uses go, constants stand once at
// the start, and results stand in the order of their use.
void clean_up(IrGraph& graph);

// The constant that stands for the one result of a node whose arguments all stand in the code
// (fold_constant.cpp); nothing where the result depends on more, can be written, is large, or where the
// operator would raise.
std::optional<Constant> fold(const IrNode& node);

}  // namespace fxtrace::script
