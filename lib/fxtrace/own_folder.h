// Where this code stands on the disk.
#pragma once

#include <filesystem>

namespace fxtrace {

// The folder of the program, or of the shared library, that this code is linked into; links are followed.
// Empty where it cannot be told.
std::filesystem::path own_folder();

}  // namespace fxtrace
