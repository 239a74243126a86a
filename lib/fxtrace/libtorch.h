// Finding LibTorch at run time, for the plugin (lib/execute) and nothing else.
#pragma once

#include <filesystem>
#include <string_view>

#include "trace/trace_program.h"

namespace fxtrace {

// In the folder of the plugin: the folder of the LibTorch that it was built with, on one line.
inline constexpr char kLibTorchFolderFile[] = "libtorch_folder.txt";

// Opens LibTorch for good, for `user` ("--op-library"), so that whatever needs it finds it by its name.  That
// is, in this order:
//
//   - the one that this process has already;
//   - $FXTRACE_LIBTORCH, the folder of a torch package or its lib folder, unless it is empty;
//   - the one that the plugin was built with, if it is still there;
//   - a torch package beside the program, as in a virtual environment: in the site-packages or dist-packages
//     of the Pythons in ../lib;
//   - the one that the system's loader finds (LD_LIBRARY_PATH).
//
// Its version, which is read before it is opened, must be the one that the plugin was built for; of those
// above that are no one's explicit choice, others are passed over.  Throws Error(kInput) when there is none
// that fits or it cannot be opened.
void open_libtorch(const std::filesystem::path& plugin_folder, const Listener& listener,
                   std::string_view user);

}  // namespace fxtrace
