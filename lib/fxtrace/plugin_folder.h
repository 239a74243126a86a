// Where the plugin is that reads TorchScript.
#pragma once

#include <filesystem>

namespace fxtrace {

// Where to look for it before the folder of the program.
void set_plugin_folder(const std::filesystem::path& folder);

// Whoever uses an installed package, wherever it is, knows its folder from CMake: a static library cannot.
#ifdef FXTRACE_PLUGIN_FOLDER
inline const bool kPluginFolderIsSet = (set_plugin_folder(FXTRACE_PLUGIN_FOLDER), true);
#endif

}  // namespace fxtrace
