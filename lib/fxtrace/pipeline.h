// From a model's file to its collection: identify, load, trace, finish.  All commands and fxtrace.h go this
// way.
#pragma once

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "execute/plugin.h"
#include "trace/config.h"
#include "trace/trace_program.h"

namespace fxtrace {

// Whose code runs: what a crash is most likely a crash of.
enum class Stage { kFxtrace, kLoadLibTorch, kLoadOperators };

// Is told how far it is, for who watches over the process.
class Stages {
 public:
  virtual ~Stages() = default;
  virtual void begins(Stage /*stage*/) {}
  // From now on nothing is opened; `runs_model`: and operators of LibTorch run, which make code of their own.
  virtual void all_is_open(bool /*runs_model*/) {}
};

// Before anything is read of the model: loads options.op_libraries, whose code runs as they are loaded, and
// keeps in options.registered what they register.  Where the model is to be run, opens what runs it; null
// otherwise.  Throws Error.
const FxtraceEngine* open_libraries(TraceOptions& options, bool runs_model, const Listener& listener,
                                    Stages& stages);

// Traces the model, of which `info` says what identify_file() found, and tells the listener what the trace
// has to say.  `name` is what the collection calls the file, and its options are the configuration's, whose
// passes are not run yet.  Where the configuration is strict, throws Error(kUsage) for an option that did
// nothing: it is most likely not the one that was meant.  Throws Error at file.path() for all else.
TraceResult trace_file(const ModelFile& file, const FileInfo& info, const std::string& name,
                       const Config& config, const Wanted& wanted, const Listener& listener);

}  // namespace fxtrace
