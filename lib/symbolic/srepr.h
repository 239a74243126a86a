// Sizes as sympy's srepr() writes them, which is how torch.export saves them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "symbolic/expression.h"

namespace fxtrace {

// Returns the text of an integer, of a float that is made of integers, or of a comparison:
//   s0*2+1   ->  Add(Integer(1), Mul(Integer(2), Symbol('s0', positive=True, integer=True)))
//   s0 > 4   ->  StrictGreaterThan(Symbol('s0', positive=True, integer=True), Integer(4))
// Nothing for other expressions.  `symbol` gives the text of a symbol, see srepr_symbol().
std::optional<std::string> srepr(const Expression& value,
                                 const std::function<std::string(const std::string& name)>& symbol);

// Whether it is a name of torch.export for a float that depends on data: zuf0.
bool is_float_of_data(const std::string& name);

// Returns Symbol('s0', positive=True, integer=True); what is not positive may be negative.
std::string srepr_symbol(const std::string& name, bool is_positive);

}  // namespace fxtrace
