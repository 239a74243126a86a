// Constant folding of Python functions on plain numbers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/argument.h"

namespace fxtrace {

// Returns the result of the Python function of that name ("operator.floordiv", "math.ceil", "torch.sym_max")
// for numbers and booleans; nothing for other functions and arguments, and when Python would raise or the
// result does not fit into 64 bits.
std::optional<Argument> fold(std::string_view target, const std::vector<Argument>& args);

}  // namespace fxtrace
