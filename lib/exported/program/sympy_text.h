// A reader of the symbolic sizes of exported programs, which are texts of sympy.
#pragma once

#include <string_view>

#include "symbolic/expression.h"

namespace fxtrace::internal {

// torch.export writes sizes with sympy's srepr():
//   Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))   ->  s77*2+1
//   FloorDiv(Symbol('s0', integer=True), Integer(2))                               ->  s0//2
// Versions before 2.7 wrote str(): "2*s0 + 1".  That, and any other text, is read as Python.
Expression expression_of_sympy(std::string_view text);

}  // namespace fxtrace::internal
