// Opening of shared libraries: LibTorch and the plugin.
#pragma once

#include <filesystem>
#include <string_view>

namespace fxtrace::internal {

// Opens a library, which is never closed, for `user` ("--op-library", for messages); its symbols stay local.
// `file` is a path, or a name that the system's loader searches.  Returns null when such a name is not found.
// Throws Error(kInput), with the loader's reason, when it cannot be opened, and std::bad_alloc when there is
// not enough memory.
void* open_shared_library(const std::filesystem::path& file, std::string_view user);

// Returns the path of the file behind a handle.
std::filesystem::path file_of_library(void* library);

// Returns the folder of the program or shared library that this code is linked into; symbolic links are
// resolved.  Empty when it is unknown.
std::filesystem::path own_folder();

}  // namespace fxtrace::internal
