// Common form: the form in which graphs of TorchScript are compared with graphs of torch.export.
//
// Both write one model in different ways.  common_form() rewrites copies of the graphs, so that the
// differences that are left are differences of the models:
//
// - Sizes and what is computed from them, devices, and tensors that torch.jit.trace makes of numbers become
//   known values; conditions that are known then are folded.
// - Guards that only repeat the shapes of inputs go: TorchScript has them if --input tells the shapes.
// - Tensors that the code makes of plain numbers become constants, equal ones one constant.
// - Operations that give their input back go, as torch.export often leaves them out: `contiguous`,
//   lift_fresh_copy, detach_ and dropout, too.
// - The first item of a module's result is the result: so torch.jit.trace writes it if no other is used.
// - A module's own parameters among its arguments go: torch.jit.trace passes tied ones.
// - Nodes without users and effects go, and asserts of known conditions.
// - Dimensions and items are counted from the front; a difference is sub, the copy of a number is fill_, and
//   a convolution of one sample has no batch.  A number that was a tensor stays the argument of the overload
//   for tensors.
//
// Invariants:
// 1. Graphs of one kind are never rewritten: compare() calls this only if are_of_two_kinds().
// 2. A walk visits the nodes in order, and replaces a node only for its users, which come later.  So the
//    inputs of a visited node are in common form.
// 3. A size is one node for each expression, the first one with it.  It has no arguments and the expression
//    as its value (is_size()), however the model computes it.
// 4. After a write in place, later nodes read the result of the last write, whichever name the code uses.
// 5. Nodes that stay keep their names.
// 6. Folding runs before the walk, and again after it for values that are known then; dead code goes last.
//
// Example:
//
//     TorchScript                            torch.export                common form of both
//     %neg = aten.neg(%x)
//     %call = aten.add.Scalar(%neg, 2.0)     aten.rsub.Scalar(%x, 2.0)   aten.sub.Tensor(2.0, %x)
//
//     %row = aten.select.int(%x, 0, 0)       aten.select.int(%x, 0, 0)   aten.select.int(%x, 0, 0)
//     %one = torch.tensor(1.0)
//     %call = aten.copy_(%row, %one)         aten.fill_.Tensor(%row, 1.0)  aten.fill_(%row, 1.0)
//
//     %relu_ = aten.relu_(%x)                aten.relu_(%x)              aten.relu_(%x)
//     %call = aten.add.Tensor(%x, %y)        aten.add.Tensor(%relu_, %y) aten.add.Tensor(%relu_, %y)
//
// In the first pair the walk finds at %call that %neg is aten.neg, and puts a sub before it; %neg has no user
// any more and goes as dead code.  In the second %one is a known number when the walk comes to copy_, so that
// put_fill() applies; that one side has fill_.Tensor and the other fill_.Scalar is ignored by the comparison
// (operator_name()).  In the third the add reads %x, which relu_ was the last to write (4.).
#pragma once

#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Returns whether one collection is of TorchScript and the other of torch.export.
bool are_of_two_kinds(const GraphCollection& a, const GraphCollection& b);

// Returns the graphs of the collection in the common form.
std::vector<ModuleGraph> common_form(const GraphCollection& collection);

}  // namespace fxtrace::internal
