// Guards as statements of Python source.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "symbolic/expression.h"

namespace fxtrace {

// The guard as Python has it, with what its names are called there: inputs and dimensions.  Nothing for one
// that is over anything else, or has more in it than arithmetic, comparisons and what a tensor says of
// itself: guards of a collection may say anything.
std::optional<std::string> python_guard(const Expression& guard,
                                        const std::map<std::string, std::string>& names);

}  // namespace fxtrace
