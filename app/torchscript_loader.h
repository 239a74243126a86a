// Opens the shared library that needs LibTorch, when a TorchScript archive is to be read and not before.
#pragma once

#include <string>

#include "torchscript/front_end.h"

namespace fxtrace::cli {

// Opens the library beside the program or in the library folder of its installation, and LibTorch with it;
// both stay open.  Throws Error(kInput) when one is missing, damaged or does not fit.
void load_libtorch();
// And the libraries of the options.
void open_torchscript(const TraceOptions& options);

// The front end of TorchScript.
TraceResult trace_torchscript(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                              const Wanted& wanted, const Listener& listener);

}  // namespace fxtrace::cli
