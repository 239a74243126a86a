// A look at a pickle before its values are made.
#pragma once

#include <string_view>

namespace fxtrace {

// Throws Error(kInput) for what would take memory or time that the file does not bound, and for what has no
// end: memo indices beyond what the pickle can have, values that are nested too deep, values that contain
// themselves, and opcodes that torch does not write.  What is merely wrong passes: who reads the values says
// it better.
void check_pickle(std::string_view pickle);

}  // namespace fxtrace
