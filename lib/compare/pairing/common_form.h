// TorchScript and torch.export write one model in two ways; this is the form in which their graphs are
// compared.
#pragma once

#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace {

// Whether one is of TorchScript and the other of torch.export.
bool are_of_two_kinds(const GraphCollection& a, const GraphCollection& b);

// Returns the collection's graphs without what the other kind writes in another way or not at all:
//
// - what is known of tensors: sizes and what is computed from them, devices; tensors that torch.jit.trace
//   makes of numbers; known conditions of control flow.  A number of dimensions is there once, without
//   arguments, as is_size() says;
// - guards that only repeat the shapes of inputs, which TorchScript has where --input tells it;
// - tensors that the code makes of numbers: they are constants, equal ones once;
// - operations that give their input back, which torch.export often leaves out; `contiguous`, which it leaves
//   out where the tensor is; what it does with a tensor of the code, lift_fresh_copy and detach_; dropout;
// - what is written in place by another name than that of the last result;
// - the first item of a module's result, which torch.jit.trace has as the result where no other is used;
// - a module's own parameters among its arguments, as torch.jit.trace has tied ones;
// - what has neither users nor effects, and asserts of what is known.
//
// Dimensions and items are counted from the front, and an operation with a number has the overload for
// tensors.  A difference is sub, a copied number fill_, a convolution of one sample has no batch.  Nodes that
// stay keep their names.
std::vector<ModuleGraph> common_form(const GraphCollection& collection);

}  // namespace fxtrace
