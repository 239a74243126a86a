#include "fxtrace/front_ends.h"

#include "exported/front_end.h"
#include "fxtrace/operator_libraries.h"
#include "support/error.h"
#include "torchscript/front_end.h"

namespace fxtrace {

const FxtraceEngine* open_libraries(TraceOptions& options, bool runs_model, const Listener& listener,
                                    Stages& stages) {
  const FxtraceEngine* engine = nullptr;
  if (runs_model) {
    stages.begins(Stage::kLoadLibTorch);
    engine = &open_engine(listener);
  }
  if (!options.op_libraries.empty()) {
    stages.begins(Stage::kLoadLibTorch);
    open_execute_plugin(listener, "--op-library");
    stages.begins(Stage::kLoadOperators);
    options.registered = load_operators(options.op_libraries, listener);
  }
  stages.begins(Stage::kFxtrace);
  stages.all_is_open(runs_model);
  return engine;
}

TraceResult run_front_end(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                          const Wanted& wanted, const Listener& listener) {
  if (!is_traceable(info.kind)) throw not_traceable(info);
  if (info.kind == FileKind::kExportedProgram) {
    return trace_exported_program(file, info, options, wanted, listener);
  }
  if (options.model) {
    throw usage_error("--model is only for archives of exported programs; this is " + info.what);
  }
  return torchscript::trace_torchscript(file, info, options, wanted, listener);
}

void finish_trace(TraceResult& result, const Config& config, const Listener& listener) {
  if (config.strict && !result.misfits.empty()) throw usage_error(result.misfits.front());
  warn_of(result.misfits, listener);
  warn_of(result.warnings, listener);
  for (const auto& note : result.notes) listener.note(note);
  result.collection.options_json = options_json(config);
}

}  // namespace fxtrace
