// The passes over a graph after the emitter, as in LibTorch's compiler.
#pragma once

#include <optional>

#include "torchscript/ir/ir.h"

namespace fxtrace::internal::torchscript {

// Converts variables to SSA form (ssa.cpp): stores and loads become values, results of branches and
// loop-carried values, in LibTorch's order (by name).  A loop gets its condition as in LibTorch, once before
// the loop and once at the end of each iteration.
void convert_to_ssa(IrGraph& graph);

// Runs LibTorch's final passes (cleanup.cpp): what follows an exception is removed, bodies of fork become
// graphs of their own, tuples that are unpacked at once are removed, and so are decided branches and unused
// results; constants are pooled at the start, and results of branches and loops are ordered by use.
void clean_up(IrGraph& graph);

// Folds a node with one result and constant arguments (fold_constant.cpp).  Returns nothing when the result
// depends on more than these, is mutable or large, or when the operator would raise.
std::optional<ScriptConstant> fold(const IrNode& node);

}  // namespace fxtrace::internal::torchscript
