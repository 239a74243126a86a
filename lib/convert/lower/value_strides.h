// Strides of the tensors of a program.
//
// A program states strides for every tensor, and compilers take memory layouts from them.  add_strides()
// derives them from the strides of the inputs, operation by operation, as torch lays results out on a CPU.
//
// Invariants:
// 1. Every tensor has strides before: those of the file for parameters, buffers and constants, else
//    contiguous ones (Body).  add_strides() only replaces strides of results; where no rule tells, they stay
//    contiguous.
// 2. Operations are visited in topological order, so the strides of arguments are final.  Inputs of a
//    subgraph get the strides of the operands first, if the shapes are equal, and the subgraph is done before
//    its operation.
// 3. Strides are expressions of sizes.  Where rules need numbers, to sort strides or to look for sizes of 1,
//    an open dimension counts as one of 7 elements (kExample).
// 4. A rule that lacks an argument, or whose result has another rank, changes nothing.
// 5. A result that is one of the arguments itself (for_each_handed_on()), as that of relu_, has the strides
//    of the argument if the shapes are equal, whatever the rule says.
//
// Rules are rows of kStridesRows by operator: views, copies in a memory format, kernels for images
// (channels_last).  Operators with traits::kPointwise follow TensorIterator.
//
// Example: channel_shuffle() of a ShuffleNet on %cat, float32[batch, 48, 28, 28], which is contiguous.
//
//     view(cat, [batch, 2, 24, 28, 28])    [37632, 18816, 784, 28, 1]  the input is contiguous
//     transpose.int(view, 1, 2)            [37632, 784, 18816, 28, 1]  strides 1 and 2 swapped
//     contiguous(transpose)                [37632, 1568, 784, 28, 1]   contiguous for [batch, 24, 2, 28, 28]
//     view(contiguous, [batch, 48, 28, 28])  [37632, 784, 28, 1]
//
// A relu of the transpose would have its strides: TensorIterator keeps those of a dense operand.
#pragma once

#include "graph/program_view.h"

namespace fxtrace {

// Sets the strides of the results of all operations, subgraphs included, in the table of the graph.
void add_strides(const ModuleGraph& graph, ProgramTable& table);

}  // namespace fxtrace
