// Expressions as texts: the notation of sympy, and a parser.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "symbolic/expression.h"

namespace fxtrace::internal {

// Sizes in the notation of sympy's srepr(), in which torch.export saves them.

// Returns the text of an integer, of a float that is made of integers, or of a comparison:
//   s0*2+1   ->  Add(Integer(1), Mul(Integer(2), Symbol('s0', positive=True, integer=True)))
//   s0 > 4   ->  StrictGreaterThan(Symbol('s0', positive=True, integer=True), Integer(4))
// Nothing for other expressions.  `symbol` gives the text of a symbol, see srepr_symbol().
std::optional<std::string> srepr(const Expression& value,
                                 const std::function<std::string(const std::string& name)>& symbol);

// Returns whether torch.export gives such a name to a float that depends on data: zuf0.
bool is_float_of_data(const std::string& name);

// Returns "Symbol('s0', positive=True, integer=True)"; a symbol that is not positive may be zero or
// negative.
std::string srepr_symbol(const std::string& name, bool is_positive);

}  // namespace fxtrace::internal
