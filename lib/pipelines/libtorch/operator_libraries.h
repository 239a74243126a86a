// Opens LibTorch, the plugin, and libraries of operators.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "execute/plugin.h"
#include "trace/options/options.h"
#include "trace/search/trace.h"

namespace fxtrace::internal {

// Opening of shared libraries: LibTorch and the plugin.

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

// The search for LibTorch at run time, for the plugin (lib/execute) only.

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

// The features that open LibTorch: libraries of custom operators, and running models.

// Returns the series of torch ("2.13") that have plugins, the newest last.
std::vector<std::string> plugin_series();

// Opens LibTorch (pipelines/libtorch/operator_libraries.h) and the plugin, for `user` ("--op-library", for
// messages). Both stay open, and so do the libraries of load_operators().  The plugin is beside the program,
// as in the build tree, or in `fxtrace` in the library folder of its installation.  Throws Error(kInput) when
// one of them is missing, damaged or of another version.
void open_execute_plugin(const Listener& listener, const std::string& user);

// Does the same for running models, which can then run in a process that may not open files.
const FxtraceEngine& open_engine(const Listener& listener);

// Loads the shared libraries, whose initialisation code runs, and returns all operators that are registered
// then, torch's own included.  Throws Error(kUsage) for a library that cannot be loaded.
RegisteredOperators load_operators(const std::vector<std::string>& libraries, const Listener& listener);

}  // namespace fxtrace::internal
