// Opens the plugin, the shared library that needs LibTorch, when a TorchScript archive is to be read and not
// before.
#pragma once

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "trace/front_end.h"

namespace fxtrace {

// Opens LibTorch (fxtrace/libtorch.h) and the plugin; both stay open.  The plugin is beside the program, as
// in the build tree, or in `fxtrace` in the library folder of its installation.  Throws Error(kInput) when
// one is missing, damaged or does not fit.
void load_torchscript_plugin(const Listener& listener);
// And the libraries of the options.
void open_torchscript(const TraceOptions& options, const Listener& listener);

// The front end of TorchScript.
TraceResult trace_torchscript(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                              const Wanted& wanted, const Listener& listener);

}  // namespace fxtrace
