// Where this code stands on the disk.
#pragma once

#include <filesystem>

namespace fxtrace {

// The folder of the program, or of the shared library, that this code is linked into; links are followed.
// Empty where /proc is not mounted.
std::filesystem::path own_folder();

}  // namespace fxtrace
