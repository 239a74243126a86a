// Opening LibTorch and the plugin.
#pragma once

#include <filesystem>
#include <string_view>

namespace fxtrace {

// Opens it for good, for `user` ("--op-library"); its symbols meet nobody else's.  `file` is a path, or a
// name to look for where the system's loader does; null when it is a name that is not found there.  Throws
// Error(kInput) with the loader's reason when it cannot be opened, and std::bad_alloc when there is no room
// for it.
void* open_shared_library(const std::filesystem::path& file, std::string_view user);

// The file that the loader has opened under that handle.
std::filesystem::path file_of_library(void* library);

}  // namespace fxtrace
