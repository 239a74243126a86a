// Calls of Python functions and of operators that only TorchScript has, as torch.export has them.
#pragma once

#include <optional>
#include <string_view>

#include "convert/lower/body.h"

namespace fxtrace {

// What a call becomes: what stands for its result.  Nothing where it cannot be said in a program; then the
// reason was told (Body::refuse()).
using Rewrite = std::optional<Operand> (*)(const LoweredCall& call, Body& body);

// Returns the row for a target such as "builtins.getattr"; null when the call stays as it is.
Rewrite find_rewrite(std::string_view target);

}  // namespace fxtrace
