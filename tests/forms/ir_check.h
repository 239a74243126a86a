// Checks the invariants of an IR graph.
#pragma once

#include <optional>
#include <string>

#include "torchscript/ir/ir.h"

namespace fxtrace::internal::torchscript {

// Returns a description of what is wrong with the graph; nothing when every value is defined before it is
// used, uses and places are recorded correctly, branches and loops have as many results as their nodes, and
// no variable or exit is left.
std::optional<std::string> find_flaw(const IrGraph& graph);

}  // namespace fxtrace::internal::torchscript
