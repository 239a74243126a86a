// Constant folding of Python functions on plain numbers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/argument.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {

// Returns the number or truth value that the argument is; nothing for others.
std::optional<PythonNumber> number_of(const Argument& argument);

// Returns evaluate_python() of numbers; nothing when an argument is none.
std::optional<Argument> fold(std::string_view target, const std::vector<Argument>& args);

}  // namespace fxtrace::internal
