// Whether a graph holds together.
#pragma once

#include <optional>
#include <string>

#include "torchscript/ir/ir.h"

namespace fxtrace::torchscript {

// What is wrong with the graph; nothing when every value is made before it is used, uses and places are
// recorded as they are, branches and loops have as many results as their nodes, and no variable or exit is
// left.
std::optional<std::string> find_flaw(const IrGraph& graph);

}  // namespace fxtrace::torchscript
