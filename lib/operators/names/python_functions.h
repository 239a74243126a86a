// Functions of Python's operator and math modules, and torch.sym_*, on plain numbers: their symbols and
// their results.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "symbolic/arithmetic.h"

namespace fxtrace {

using PythonNumber = std::variant<bool, std::int64_t, double>;

// Returns the symbol of a binary function: "operator.floordiv" -> "//".  Empty for functions without a
// symbol.
std::string_view python_symbol(std::string_view target);

// Returns the operation of a function of two numbers ("operator.floordiv"), for every kind of number.  Null
// for functions that lib/symbolic does not implement.
const BinaryOperation* find_operation(std::string_view target);

// Returns the result of the function of that name ("operator.floordiv", "math.ceil", "torch.sym_max");
// nothing for other functions and arguments, and when Python would raise or the result does not fit into 64
// bits.
std::optional<PythonNumber> evaluate_python(std::string_view target, const std::vector<PythonNumber>& args);

}  // namespace fxtrace
