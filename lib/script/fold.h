// Operators whose arguments all stand in the code, as far as they can be carried out while the code is
// compiled.
#pragma once

#include <optional>

#include "script/ir.h"

namespace fxtrace::script {

// The constant that stands for the node's one result; nothing where that depends on more, can be written, is
// large, or where the operator would raise.
std::optional<Constant> fold(const IrNode& node);

}  // namespace fxtrace::script
