// A look at a pickle before LibTorch's unpickler sees it.
#pragma once

#include <string_view>

namespace fxtrace {

// Throws Error(kInput) for what would exhaust memory or the stack later: memo indices beyond what the pickle
// can have, values that are nested too deep, values that contain themselves, and opcodes that LibTorch does
// not write. What is merely wrong passes: the unpickler says it better.
void check_pickle(std::string_view pickle);

}  // namespace fxtrace
