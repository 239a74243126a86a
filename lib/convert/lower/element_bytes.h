// The bytes of tensors whose elements are known as numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/argument.h"

namespace fxtrace {

// Returns the elements as they lie in memory, the lowest byte of each first, rounded as torch rounds; nothing
// for other types than booleans, integers and real numbers of at least 16 bits, and for what is no number.
std::optional<std::string> element_bytes(const std::vector<Argument>& elements, std::string_view dtype);

}  // namespace fxtrace
