// The steps from a model's file to its collection: identify, load, trace, finish.
#pragma once

#include <memory>
#include <string>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "execute/plugin.h"
#include "pipelines/command_run.h"
#include "trace/options/config.h"
#include "trace/search/trace_program.h"

namespace fxtrace::internal {

// A model's file and the name that a collection gives it: "model.pt"; "-" for the standard input.
struct NamedFile {
  NamedFile(const ModelFile& opened, std::string model_name) : file(opened), name(std::move(model_name)) {}
  NamedFile(const ModelFile& opened) : NamedFile(opened, opened.base_name()) {}  // NOLINT: stands for it

  const ModelFile& file;
  std::string name;
};

// Returns f(); an error without a place gets that of the file.
template <class F>
auto at_file(const ModelFile& file, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw Error(error).at(file.path());
  }
}

// Loads options.op_libraries, whose initialisation code runs, and stores the operators that they register in
// options.registered.  Must be called before any part of the model is read.  Returns the engine if the model
// is to be run, else null.  Throws Error.
const FxtraceEngine* open_libraries(TraceOptions& options, bool runs_model, Run& run);

// Reads the model without tracing it.  `info` is the result of identify_file().  Throws Error(kInput) at
// file.path().
std::unique_ptr<const Program> load_program(const ModelFile& file, const FileInfo& info,
                                            const TraceOptions& options, const Listener& listener);

// Traces a TorchScript archive or an exported program, and passes messages of the trace to the listener.
// `info` is the result of identify_file().  model.file and options_json are filled in; passes of the
// configuration are not run.  `run` owns the result.  If the configuration is strict, throws Error(kUsage)
// for an option without effect, as it is probably a mistake, and the run falls short if an option could not
// be followed.  Throws Error at file.path() for all other problems.
TraceResult& trace_file(const NamedFile& file, const FileInfo& info, const Config& config,
                        const TraceRequest& wanted, Run& run);
// Does the same with another listener, and leaves the result to the caller.
TraceResult trace_file(const NamedFile& file, const FileInfo& info, const Config& config, TraceRequest wanted,
                       const Listener& listener);

// --- models or collections ---

// Returns whether the file begins as a collection's JSON does; read_collection_file() checks the rest.
bool may_be_collection(const ModelFile& file, const FileInfo& info);

// Reads the JSON that `fxtrace trace` wrote, for a command that takes models too.  Throws Error(kUsage) if
// options of a trace are given, as they do not apply, and Error(kInput).
GraphCollection read_saved_collection(bool has_trace_options, const ModelFile& file,
                                      const Listener& listener);

// Returns the trace of a model, or the collection that `fxtrace trace` saved, which has no program; `run`
// owns it.  Throws as read_model_or_collection() does.
TraceResult& trace_or_read(const Config& config, bool has_trace_options, const NamedFile& file, Run& run);

// Returns the collection of a model, traced and after the passes of the configuration, or the one that
// `fxtrace trace` saved; `run` owns it.  Throws Error(kUsage) if options of a trace are given for a saved one
// (`has_trace_options`), and Error(kInput).
GraphCollection& read_model_or_collection(const Config& config, bool has_trace_options, const NamedFile& file,
                                          Run& run);

}  // namespace fxtrace::internal
