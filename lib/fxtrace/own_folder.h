// The location of this code on disk.
#pragma once

#include <filesystem>

namespace fxtrace {

// Returns the folder of the program or shared library that this code is linked into; symbolic links are
// resolved.  Empty when it is unknown.
std::filesystem::path own_folder();

}  // namespace fxtrace
