// remove-noops: operations that give back what they are given.
#pragma once

#include "passes/pass.h"

namespace fxtrace {

// Full slices, conversions to the type that a value has, expand, view and permute that change nothing, alias
// and detach, and copies where nobody writes the copy or what it is of, nor sees its layout; dropout in
// evaluation, and torch.nn.Identity. What decides is known by literals and by shapes, else the operation
// stays.
void remove_noops(ModuleGraph& graph, PassContext& context);

}  // namespace fxtrace
