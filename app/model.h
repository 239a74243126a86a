// Tracing the model that a command was given.
#pragma once

#include "app/console.h"
#include "app/files.h"
#include "archive/file_kind.h"
#include "support/error.h"
#include "trace/config.h"
#include "trace/front_end.h"

namespace fxtrace::cli {

// Runs f; errors get the input's name for their place.
template <class F>
auto with_input(const InputFile& input, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw input.with_display(error);
  }
}

// Traces a TorchScript archive or an exported program; warnings and notes go to the console.  model.file and
// options_json are filled in.  Where the configuration is strict, throws Error(kUsage) for an option that did
// nothing.
TraceResult trace_file(const InputFile& input, const FileInfo& info, const Config& config,
                       const Wanted& wanted, Console& console);

}  // namespace fxtrace::cli
