// Loading the model that a command was given.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/console.h"
#include "app/files.h"
#include "archive/file_kind.h"
#include "trace/hints.h"
#include "trace/options.h"
#include "trace/trace.h"

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

// Loads a TorchScript archive or an exported program; warnings go to the console.
std::unique_ptr<Program> load_file(const InputFile& input, const FileInfo& info, const TraceOptions& options,
                                   Console& console);

// Traces what was loaded; warnings go to the console.  model.file and options_json are filled in.  `hint`, if
// given: what would help modules that failed.  When `strict`, throws Error(kUsage) for an option that did
// nothing.
GraphCollection trace_program(Program& program, const InputFile& input, const TraceOptions& options,
                              bool strict, Console& console, std::optional<Hint>* hint = nullptr);

// Both.
GraphCollection trace_file(const InputFile& input, const FileInfo& info, const TraceOptions& options,
                           bool strict, Console& console, std::optional<Hint>* hint = nullptr);

}  // namespace fxtrace::cli
