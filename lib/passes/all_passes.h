// The passes, each in a file of its name, in the order of the table (pass.cpp).
#pragma once

#include "passes/pass.h"

namespace fxtrace {

// remove-batch-dims: what torch.vmap does to one sample at a time is done to all of them (batching rules, as
// torch/_functorch and ATen/functorch apply them while they run; here on a graph).
//
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

// remove-inplace: writes become new values (functionalization, as torch/_functorch and
// ATen/FunctionalTensorWrapper do it on tensors while they run; here on a graph).
//
// Every operator that writes becomes its functional twin.  Whoever reads the tensor afterwards reads the
// twin's result; views of it are made anew where they are read, a write through a view goes back into what
// the view is of by the inverse of the view (select_scatter, slice_scatter, ...), and what is written to an
// input or buffer of the model is copied there once, before the output.  All writes to memory that is not
// understood in full stay.
void remove_inplace(ModuleGraph& graph, PassContext& context);

// remove-noops: operations that give back what they are given.
//
// Full slices, conversions to the type that a value has, expand, view and permute that change nothing, alias
// and detach, and copies where nobody writes the copy or what it is of, nor sees its layout; dropout in
// evaluation, and torch.nn.Identity. What decides is known by literals and by shapes, else the operation
// stays.
void remove_noops(ModuleGraph& graph, PassContext& context);

// fold-constants: numbers that are known stand where the nodes that compute them stood.
//
// What Python computes from plain numbers, sizes and ranks that are known, items of a list that stands there,
// and numbers that traced code makes a tensor of and reads back.  Tensors are not computed.  Of a cond whose
// condition is known the branch that it takes stands in its place (support/taken_branch.h).
void fold_constants(ModuleGraph& graph, PassContext& context);

// common-subexpressions: what is computed twice from the same values is computed once (J. Cocke, Global
// Common Subexpression Elimination, 1970; here in one block, by the text of the operation).
//
// Two calls are one where operator, arguments and what is known of the results are equal, nothing that they
// read is written in between, and nobody can tell the results apart by writing one of them.  Random calls and
// calls of modules stay.
void common_subexpressions(ModuleGraph& graph, PassContext& context);

// eliminate-dead-code: what nobody uses and what does nothing goes.
//
// Calls that only give results, of which none is used, attributes and constants that nothing reads, checks
// that stand in the guards, and operands, results and carried values of control flow that neither the
// subgraphs nor the graph around need, and what only logs or switches something for no call
// (support/switches.h). Inputs of a module's graph stay, and so do writes, random and unknown calls, leaves
// and checks that nothing else says.
void eliminate_dead_code(ModuleGraph& graph, PassContext& context);

}  // namespace fxtrace
