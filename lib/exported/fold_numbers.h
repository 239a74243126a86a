// Operations on plain numbers, carried out.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/argument.h"

namespace fxtrace {

// What Python's function of that name ("operator.floordiv", "math.ceil", "torch.sym_max") gives for numbers
// and booleans.  Nothing for other functions and values, and where Python would raise or the result does not
// fit 64 bits.
std::optional<Argument> fold(std::string_view target, const std::vector<Argument>& args);

}  // namespace fxtrace
