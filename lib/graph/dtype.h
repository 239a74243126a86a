// What a dtype's name tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fxtrace {

// Bytes of one element, as torch's dtype.itemsize has it: 4 for "float32".  Absent for a name that is no
// dtype.
std::optional<std::int64_t> find_itemsize(std::string_view dtype);

}  // namespace fxtrace
