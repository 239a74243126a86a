// What opens LibTorch: asking what libraries of custom operators register, and running models.
#pragma once

#include <string>
#include <vector>

#include "execute/plugin.h"
#include "trace/options.h"
#include "trace/trace_program.h"

namespace fxtrace {

// Opens LibTorch (fxtrace/libtorch.h) and the plugin that asks it, for `user` ("--op-library"); both stay
// open, and so do the libraries of load_operators().  The plugin is beside the program, as in the build tree,
// or in `fxtrace` in the library folder of its installation.  Throws Error(kInput) when one is missing,
// damaged or does not fit.
void open_execute_plugin(const Listener& listener, const std::string& user);

// Likewise, to run models: afterwards they can be run by who may open nothing.
const FxtraceEngine& open_engine(const Listener& listener);

// Loads the shared libraries, whose code runs as they are loaded.  Throws Error(kUsage) for one that cannot
// be.
RegisteredOperators load_operators(const std::vector<std::string>& libraries, const Listener& listener);

}  // namespace fxtrace
