#include "fxtrace/front_ends.h"

#include <cstdlib>
#include <string_view>

#include "exported/front_end.h"
#include "fxtrace/torchscript_loader.h"
#include "support/error.h"
#include "torchscript_reader/front_end.h"

namespace fxtrace {

TraceResult run_front_end(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                          const Wanted& wanted, const Listener& listener, Stages& stages) {
  if (!is_traceable(info.kind)) throw not_traceable(info);
  if (info.kind == FileKind::kExportedProgram) {
    stages.all_is_open();
    return trace_exported_program(file, info, options, wanted, listener);
  }
  if (options.model) {
    throw usage_error("--model is only for archives of exported programs; this is " + info.what);
  }
  // For comparing the two readers while both are there.
  if (const char* reader = std::getenv("FXTRACE_READER");
      reader != nullptr && std::string_view(reader) == "own") {
    stages.all_is_open();
    return torchscript::trace_torchscript(file, info, options, wanted, listener);
  }
  stages.begins(Stage::kLoadLibTorch);
  load_torchscript_plugin(listener);
  if (!options.op_libraries.empty()) stages.begins(Stage::kLoadOperators);
  open_torchscript(options, listener);
  stages.begins(Stage::kLibTorch);
  stages.all_is_open();
  return trace_torchscript(file, info, options, wanted, listener);
}

void finish_trace(TraceResult& result, const Config& config, const Listener& listener) {
  if (config.strict && !result.misfits.empty()) throw usage_error(result.misfits.front());
  warn_of(result.misfits, listener);
  warn_of(result.warnings, listener);
  for (const auto& note : result.notes) listener.note(note);
  result.collection.options_json = options_json(config);
}

}  // namespace fxtrace
