// The folder of the plugin, which TraceOptions::op_libraries and Model::verify() need besides LibTorch.
// Programs built with find_package(fxtrace) know that of the package; others need the plugin beside the
// program, or in ../lib/fxtrace from there.  LibTorch is the one that the process has already, that of
// FXTRACE_LIBTORCH, or of a torch package beside the program or in the environment.
#pragma once

#include <filesystem>

namespace fxtrace {

// Sets a folder that is searched before the program's.
void set_plugin_folder(const std::filesystem::path& folder);

// CMake passes the folder to users of an installed package; a static library cannot know it.
#ifdef FXTRACE_PLUGIN_FOLDER
inline const bool kPluginFolderIsSet = (set_plugin_folder(FXTRACE_PLUGIN_FOLDER), true);
#endif

}  // namespace fxtrace
