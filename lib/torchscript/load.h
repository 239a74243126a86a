// The door to TorchScript.
#pragma once

#include <memory>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "trace/trace_program.h"

namespace fxtrace::torchscript {

// Loads the TorchScript archive, of which `info` says what identify_file() found, without reading weights and
// without running model code.  Throws Error; so does a trace of the program, for code that it compiles then.
std::unique_ptr<const Program> load_torchscript(const ModelFile& file, const FileInfo& info,
                                                const TraceOptions& options, const Listener& listener);

}  // namespace fxtrace::torchscript
