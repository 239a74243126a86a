// Asks LibTorch what libraries of custom operators register.
#pragma once

#include <string>
#include <vector>

#include "trace/front_end.h"
#include "trace/options.h"

namespace fxtrace {

// Opens LibTorch (fxtrace/libtorch.h) and the plugin that asks it; both stay open, and so do the libraries of
// load_operators().  The plugin is beside the program, as in the build tree, or in `fxtrace` in the library
// folder of its installation.  Throws Error(kInput) when one is missing, damaged or does not fit.
void open_execute_plugin(const Listener& listener);

// Loads the shared libraries, whose code runs as they are loaded.  Throws Error(kUsage) for one that cannot
// be.
RegisteredOperators load_operators(const std::vector<std::string>& libraries, const Listener& listener);

}  // namespace fxtrace
