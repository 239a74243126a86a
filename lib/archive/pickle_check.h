// Checks a pickle before it is executed.
#pragma once

#include <string_view>

namespace fxtrace {

// Throws Error(kInput) for a pickle that would take time or memory not bounded by its size: memo indices
// larger than it can have, values nested too deep, values that contain themselves, and opcodes that torch
// does not write.  Other errors are left to the reader of the values, which has better messages.
void check_pickle(std::string_view pickle);

}  // namespace fxtrace
