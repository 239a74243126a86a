// Rewrites of calls that have another form in torch.export: Python functions, and operators that only
// TorchScript has.
#pragma once

#include <optional>
#include <string_view>

#include "convert/lower/body.h"

namespace fxtrace {

// A rewrite: returns the operand that stands for the result of the call.  Returns nothing if a program cannot
// express the call; then it was refused, or lower() refuses it.
using Rewrite = std::optional<Operand> (*)(const LoweredCall& call, Body& body);

// Returns the rewrite for a target such as "builtins.getattr"; null if the call stays as it is.
Rewrite find_rewrite(std::string_view target);

}  // namespace fxtrace
