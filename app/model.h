// Tracing the model that a command was given.
#pragma once

#include "app/console.h"
#include "app/files.h"
#include "app/isolation.h"
#include "archive/file_kind.h"
#include "trace/config.h"
#include "trace/front_end.h"

namespace fxtrace::cli {

// Traces a TorchScript archive or an exported program; warnings and notes go to the console.  model.file and
// options_json are filled in.  Where the configuration is strict, throws Error(kUsage) for an option that did
// nothing.  Says to `isolated` when all is open, which keeps the result.
TraceResult& trace_file(const InputFile& input, const FileInfo& info, const Config& config,
                        const Wanted& wanted, Isolated& isolated, Console& console);

}  // namespace fxtrace::cli
