// A setting for the folder of the plugin.
#pragma once

#include <filesystem>

namespace fxtrace::internal {

// Sets a folder that is searched before the program's.
void set_plugin_folder(const std::filesystem::path& folder);

// CMake passes the folder to users of an installed package; a static library cannot know it.
#ifdef FXTRACE_PLUGIN_FOLDER
inline const bool kPluginFolderIsSet = (set_plugin_folder(FXTRACE_PLUGIN_FOLDER), true);
#endif

}  // namespace fxtrace::internal
