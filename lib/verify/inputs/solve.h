// Solves for dimensions: finds the value of a dimension from a known size.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "symbolic/sym_int.h"

namespace fxtrace::internal::verify {

// Returns the only dimension of the expression that `sizes` lacks, with the value for which the expression is
// `result`: {s, 3} for s*2 and 6.  Returns nothing if there are several, if there is no such value, and for
// other forms than s*a + b, which is how torch.export derives sizes.
std::optional<std::pair<std::string, std::int64_t>> solve(const SymInt& size, std::int64_t result,
                                                          const std::map<std::string, std::int64_t>& sizes);

}  // namespace fxtrace::internal::verify
