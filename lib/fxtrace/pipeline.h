// The steps from a model's file to its collection: identify, load, trace, finish.  Used by all commands and
// by fxtrace.h.
#pragma once

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "execute/plugin.h"
#include "trace/options/config.h"
#include "trace/search/trace_program.h"

namespace fxtrace::internal {

// The code that runs, for the diagnosis of a crash.
enum class Stage { kFxtrace, kLoadLibTorch, kLoadOperators, kRunModel };

// Receives the progress of a run, for a supervisor of the process.
class Stages {
 public:
  virtual ~Stages() = default;
  virtual void begins(Stage /*stage*/) {}
  // Called when no more files will be opened.  `runs_model` says that operators of LibTorch will run, which
  // may generate code.
  virtual void all_is_open(bool /*runs_model*/) {}
};

// Loads options.op_libraries, whose initialisation code runs, and stores the operators that they register in
// options.registered.  Must be called before any part of the model is read.  Returns the engine if the model
// is to be run, else null.  Throws Error.
const FxtraceEngine* open_libraries(TraceOptions& options, bool runs_model, const Listener& listener,
                                    Stages& stages);

// Reads the model without tracing it.  `info` is the result of identify_file().  Throws Error(kInput) at
// file.path().
std::unique_ptr<const Program> load_program(const ModelFile& file, const FileInfo& info,
                                            const TraceOptions& options, const Listener& listener);

// Traces the model and passes messages of the trace to the listener.  `info` is the result of
// identify_file(); `name` becomes the collection's model.file.  Passes of the configuration are not run.
// Throws Error(kUsage) for an option without effect if the configuration is strict, as it is probably a
// mistake, and Error at file.path() for all other problems.
TraceResult trace_file(const ModelFile& file, const FileInfo& info, const std::string& name,
                       const Config& config, TraceRequest wanted, const Listener& listener);

}  // namespace fxtrace::internal
