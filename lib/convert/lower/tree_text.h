// Tree specs: the nesting of inputs and results, and its text (torch.utils._pytree.treespec_dumps).
#pragma once

#include <string>
#include <vector>

#include "exported/program/tree_spec.h"
#include "graph/argument.h"

namespace fxtrace::internal {

std::string tree_text(const TreeSpec& spec);

// Returns the structure of nested values, and appends their leaves.  Everything but lists, tuples and dicts
// is a leaf, None included.
TreeSpec tree_of(const Argument& value, std::vector<Argument>& leaves);

}  // namespace fxtrace::internal
