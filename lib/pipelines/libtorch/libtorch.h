// The search for LibTorch at run time, for the plugin (lib/execute) only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trace/search/trace_program.h"

namespace fxtrace::internal {

// A file beside the plugin with one line: the folder of the LibTorch that the plugin was built with.
inline constexpr char kLibTorchFolderFile[] = "libtorch_folder.txt";

// Opens LibTorch, which is never closed, for `user` ("--op-library", for messages), so that libraries which
// need it find it by name, and returns its series ("2.13").  Candidates, in this order:
//
//   - the one that this process has already;
//   - $FXTRACE_LIBTORCH, the folder of a torch package or its lib folder, unless it is empty;
//   - the one that the plugin was built with, if it is still there;
//   - a torch package beside the program, as in a virtual environment: in the site-packages or dist-packages
//     of the Pythons in ../lib;
//   - those of $VIRTUAL_ENV, $CONDA_PREFIX, the first python3 of $PATH and the user;
//   - the one that the system's loader finds (LD_LIBRARY_PATH).
//
// Its version, which is read before it is opened, must be of one of `series`, for which there are plugins,
// the newest last; candidates of another version that were not chosen explicitly are skipped.  Throws
// Error(kInput) when none fits or it cannot be opened.
std::string open_libtorch(const std::vector<std::string>& series, const std::filesystem::path& plugin_folder,
                          const Listener& listener, std::string_view user);

}  // namespace fxtrace::internal
