// What operators of older archive formats meant.
#pragma once

#include <cstdint>

namespace fxtrace {

// Gives LibTorch its upgraders for code of that format, once in a process: without them it refuses the code.
// Those that ask for the dtype of an input come without an `if`, so that they can be followed.
void provide_upgraders(std::uint64_t format_version);

}  // namespace fxtrace
