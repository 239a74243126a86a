// The features that open LibTorch: libraries of custom operators, and running models.
#pragma once

#include <string>
#include <vector>

#include "execute/plugin.h"
#include "trace/options/options.h"
#include "trace/search/trace_program.h"

namespace fxtrace::internal {

// Returns the series of torch ("2.13") that have plugins, the newest last.
std::vector<std::string> plugin_series();

// Opens LibTorch (pipelines/libtorch/libtorch.h) and the plugin, for `user` ("--op-library", for messages).
// Both stay open, and so do the libraries of load_operators().  The plugin is beside the program, as in the
// build tree, or in `fxtrace` in the library folder of its installation.  Throws Error(kInput) when one of
// them is missing, damaged or of another version.
void open_execute_plugin(const Listener& listener, const std::string& user);

// Does the same for running models, which can then run in a process that may not open files.
const FxtraceEngine& open_engine(const Listener& listener);

// Loads the shared libraries, whose initialisation code runs, and returns all operators that are registered
// then, torch's own included.  Throws Error(kUsage) for a library that cannot be loaded.
RegisteredOperators load_operators(const std::vector<std::string>& libraries, const Listener& listener);

}  // namespace fxtrace::internal
