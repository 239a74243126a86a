// The passes, each in a .cpp file of its name, in the order of the table (pass.cpp).
#pragma once

#include "passes/pass.h"

namespace fxtrace::internal {

// remove-batch-dims: rewrites functions that torch.vmap runs for one sample to compute the whole batch, by
// batching rules (as torch/_functorch and ATen/functorch apply them at run time; here on a graph).
//
// For each outermost vmap, removes all calls of _add_batch_dim and _remove_batch_dim, and the calls that open
// and close it; the operators get the batch dimensions in front:
//
//   %a = _add_batch_dim(%x, 0, 1) -> float32[4]        %mul = mul(%x, %y) -> float32[3, 4]
//   %mul = mul(%a, %y) -> float32[4]
//   %r = _remove_batch_dim(%mul, 1, 3, 0)
//
// A vmap is left as it is when something in it has no batching rule (opinfo/batching.h): random numbers,
// writes, data-dependent operations, unknown operators and modules.
void remove_batch_dims(ModuleGraph& graph, PassContext& context);

// remove-inplace: replaces writes in place by new values (functionalization, as torch/_functorch and
// ATen/FunctionalTensorWrapper do it at run time; here on a graph).
//
// Every operator that writes becomes its functional variant.  Later readers of the tensor read the variant's
// result; views of the tensor are regenerated where they are read; a write through a view is propagated to
// the base by the inverse of the view (select_scatter, slice_scatter, ...); a written input or buffer of the
// model is updated by one copy_, before the output.  Writes to memory that is not fully understood are all
// kept.
void remove_inplace(ModuleGraph& graph, PassContext& context);

// remove-noops: removes operations that return their input.
//
// These are full slices, conversions to the dtype that the value has, expand, view and permute without
// effect, alias and detach, dropout in evaluation mode, torch.nn.Identity, and copies if neither the copy nor
// the original is written and their layout is not observed.  An operation stays when literals and known
// shapes do not prove that it has no effect.
void remove_noops(ModuleGraph& graph, PassContext& context);

// fold-constants: replaces nodes that compute known numbers by the numbers (constant folding).
//
// Folds Python functions of plain numbers, known sizes and ranks, items of literal lists, and numbers that
// traced code wraps in a tensor and reads back.  Tensors are not computed.  A cond with a known condition is
// replaced by the branch that it takes (analysis/taken_branch.h).
void fold_constants(ModuleGraph& graph, PassContext& context);

// common-subexpressions: computes equal expressions once (J.  Cocke, Global Common Subexpression Elimination,
// 1970; here within one block, by the text of the operation).
//
// Merges two calls when operator, arguments and metadata of the results are equal, nothing that they read is
// written in between, and no write to one of the results would reveal the merge.  Random calls and calls of
// modules stay.
void common_subexpressions(ModuleGraph& graph, PassContext& context);

// eliminate-dead-code: removes nodes that have neither users nor effects.
//
// Removes pure calls without users; attributes and constants that are not read; asserts that the guards
// contain; operands, results and carried values of control flow that neither the subgraphs nor the enclosing
// graph need; and calls that only log, or switch a mode that affects no call (analysis/switches.h).  Inputs
// of a module's graph stay, and so do writes, random and unknown calls, leaves, and all other asserts.
void eliminate_dead_code(ModuleGraph& graph, PassContext& context);

}  // namespace fxtrace::internal
