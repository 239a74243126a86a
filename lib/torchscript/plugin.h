// The door to the shared library that holds everything that needs LibTorch.  The program opens it only when a
// TorchScript archive is to be read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trace/options.h"
#include "trace/program.h"

namespace fxtrace {

struct LoadResult {
  std::unique_ptr<Program> program;
  std::vector<std::string> warnings;
};

// Loads the TorchScript archive at `path` without reading weights and without running model code.  Throws
// Error.
LoadResult load_torchscript(const std::string& path, const TraceOptions& options);

}  // namespace fxtrace

// What the shared library exports; the types above are C++, so program and library belong to one build.
extern "C" void fxtrace_load_torchscript(const std::string& path, const fxtrace::TraceOptions& options,
                                         fxtrace::LoadResult& result);
