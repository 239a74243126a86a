#include "app/model.h"

#include "exported/front_end.h"
#include "fxtrace/torchscript_loader.h"
#include "support/log.h"

namespace fxtrace::cli {
namespace {

TraceResult run_front_end(const InputFile& input, const FileInfo& info, const TraceOptions& options,
                          const Wanted& wanted, Isolated& isolated, const Listener& listener) {
  if (info.kind == FileKind::kExportedProgram) {
    isolated.all_is_open();
    return trace_exported_program(input.file(), info, options, wanted, listener);
  }
  if (options.model) {
    throw usage_error("--model is only for archives of exported programs; this is " + info.what);
  }
  isolated.begins(Stage::kLoadLibTorch);
  load_torchscript_plugin(listener);
  if (!options.op_libraries.empty()) isolated.begins(Stage::kLoadOperators);
  open_torchscript(options, listener);
  isolated.begins(Stage::kLibTorch);
  isolated.all_is_open();
  return trace_torchscript(input.file(), info, options, wanted, listener);
}

}  // namespace

TraceResult trace_file(const InputFile& input, const FileInfo& info, const Config& config,
                       const Wanted& wanted, Isolated& isolated, Console& console) {
  log::info(input.display() + " is " + info.what);
  const Listener listener{log::info, [&](const std::string& text) { console.warning(text); }};
  TraceResult result = with_input(
      input, [&] { return run_front_end(input, info, config.options, wanted, isolated, listener); });
  // An option that does nothing is most likely not the one that was meant.
  if (config.strict && !result.misfits.empty()) throw usage_error(result.misfits.front());
  for (const auto& misfit : result.misfits) console.warning(misfit);
  for (const auto& warning : result.warnings) console.warning(warning);
  for (const auto& note : result.notes) console.remark("note", note);
  result.collection.model.file = input.base_name();
  result.collection.options_json = options_json(config);
  return result;
}

}  // namespace fxtrace::cli
