// Converts symbolic sizes of exported programs to Python expressions.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace {

// torch.export writes sizes with sympy's srepr():
//   Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))   ->  2*s77 + 1
//   FloorDiv(Symbol('s0', integer=True), Integer(2))                               ->  s0//2
// Versions before 2.7 wrote str(): "2*s0 + 1".  That, and any other text, is returned unchanged.
std::string sympy_to_python(std::string_view text);

}  // namespace fxtrace
