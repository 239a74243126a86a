// The door to TorchScript: a shared library that holds everything that needs LibTorch.  The program opens it
// only when a TorchScript archive is to be read.
#pragma once

#include <memory>
#include <string>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "trace/front_end.h"

namespace fxtrace {

// Loads the TorchScript archive, of which `info` says what identify_file() found, without reading weights and
// without running model code.  Throws Error.  Operators of --op-library stay in the process: LibTorch cannot
// forget them.
std::unique_ptr<const Program> load_torchscript(const ModelFile& file, const FileInfo& info,
                                                const TraceOptions& options, const Listener& listener);

}  // namespace fxtrace

// What the shared library exports: first the one that loads all that is loaded, libraries of operators too;
// the types above are C++, so program and library belong to one build.
extern "C" void fxtrace_open_torchscript(const fxtrace::TraceOptions& options);
extern "C" void fxtrace_trace_torchscript(const fxtrace::ModelFile& file, const fxtrace::FileInfo& info,
                                          const fxtrace::TraceOptions& options, const fxtrace::Wanted& wanted,
                                          const fxtrace::Listener& listener, fxtrace::TraceResult& result);
