// One door to all front ends.
#pragma once

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "execute/plugin.h"
#include "trace/config.h"
#include "trace/front_end.h"

namespace fxtrace {

// Whose code runs: what a crash is most likely a crash of.
enum class Stage { kFxtrace, kLoadLibTorch, kLoadOperators, kRunModel };

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

// Traces the model, of which `info` says what identify_file() found.  Throws Error.
TraceResult run_front_end(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                          const Wanted& wanted, const Listener& listener);

// Tells what the trace has to say, and puts the options into the collection.  Where the configuration is
// strict, throws Error(kUsage) for an option that did nothing: it is most likely not the one that was meant.
void finish_trace(TraceResult& result, const Config& config, const Listener& listener);

}  // namespace fxtrace
