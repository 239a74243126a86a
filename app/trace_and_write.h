// A model in, its collection out: what trace does, and render of a model.
#pragma once

#include "app/console.h"
#include "app/files.h"
#include "app/formats.h"
#include "app/isolation.h"
#include "app/output.h"
#include "archive/file_kind.h"
#include "trace/config.h"

namespace fxtrace::cli {

// Traces the model, runs the passes of the configuration and writes the collection to `output`.  What failed
// is told on the console.  Gives the exit code.  Throws Error(kInput) for what is no model.
int trace_and_write(const InputFile& input, const FileInfo& info, const Config& config,
                    const FormatArguments& format, Output& output, Isolated& isolated, Console& console);

}  // namespace fxtrace::cli
