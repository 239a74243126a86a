// The door to TorchScript.
#pragma once

#include <memory>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "trace/front_end.h"

namespace fxtrace::torchscript {

// Loads the TorchScript archive, of which `info` says what identify_file() found, without reading weights and
// without running model code.  Throws Error.
std::unique_ptr<const Program> load_torchscript(const ModelFile& file, const FileInfo& info,
                                                const TraceOptions& options, const Listener& listener);

TraceResult trace_torchscript(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                              const Wanted& wanted, const Listener& listener);

}  // namespace fxtrace::torchscript
