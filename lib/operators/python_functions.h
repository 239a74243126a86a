// Functions of Python's operator and math modules and torch.sym_*, as far as graphs call them on plain
// numbers: how they are written, and what they give.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace fxtrace {

using PythonNumber = std::variant<bool, std::int64_t, double>;

// "operator.floordiv" -> "//", for functions of two values.  Empty for those without a symbol.
std::string_view python_symbol(std::string_view target);

// What Python's function of that name ("operator.floordiv", "math.ceil", "torch.sym_max") gives.  Nothing for
// other functions and values, and where Python would raise or the result does not fit 64 bits.
std::optional<PythonNumber> evaluate_python(std::string_view target, const std::vector<PythonNumber>& args);

}  // namespace fxtrace
