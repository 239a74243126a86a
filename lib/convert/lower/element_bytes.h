// Bytes of tensors whose elements are known as numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/argument.h"

namespace fxtrace::internal {

// Returns the elements as they lie in memory, little-endian, rounded as torch rounds.  Returns nothing for
// other dtypes than bool, integers and real numbers of at least 16 bits, and for elements that are not
// numbers.
std::optional<std::string> element_bytes(const std::vector<Argument>& elements, std::string_view dtype);

}  // namespace fxtrace::internal
