// Opens the shared library that needs LibTorch, when a TorchScript archive is to be read and not before.
#pragma once

#include <string>

#include "torchscript/front_end.h"

namespace fxtrace::cli {

// Opens the library, LibTorch and the libraries of the options.  Throws Error.
void open_torchscript(const TraceOptions& options);

// The front end of TorchScript, from the library beside the program or in the library folder of its
// installation. Throws Error(kInput) when the library or LibTorch is missing or does not fit.  The library
// stays open.
TraceResult trace_torchscript(const ModelFile& file, const TraceOptions& options, const Wanted& wanted,
                              const Listener& listener);

}  // namespace fxtrace::cli
