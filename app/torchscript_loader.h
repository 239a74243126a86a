// Opens the shared library that needs LibTorch, when a TorchScript archive is to be read and not before.
#pragma once

#include <string>

#include "torchscript/plugin.h"

namespace fxtrace::cli {

// As fxtrace::load_torchscript, from the library beside the program or in the library folder of its
// installation. Throws Error(kInput) when the library or LibTorch is missing or does not fit.  The library
// stays open.
LoadResult load_torchscript_archive(const std::string& path, const TraceOptions& options);

}  // namespace fxtrace::cli
