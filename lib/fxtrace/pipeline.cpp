#include "fxtrace/pipeline.h"

#include <memory>
#include <utility>

#include "exported/program/exported_program.h"
#include "fxtrace/operator_libraries.h"
#include "interpreter/load.h"
#include "support/error.h"
#include "support/timer.h"
#include "torchscript/language/source.h"

namespace fxtrace::internal {
namespace {

std::unique_ptr<const Program> load(const FileInfo& info, const TraceOptions& options,
                                    const SpentUnits& spent, const Listener& listener) {
  if (!is_traceable(info.kind)) throw not_traceable(info);
  if (info.kind == FileKind::kExportedProgram)
    return std::make_unique<const ExportedProgram>(info, options.model);
  if (options.model) throw usage_error("--model needs an archive of exported programs; this is " + info.what);
  return interpreter::load_torchscript(info, options, listener, spent);
}

// Calls f() and adds the file to its errors.
template <class F>
auto naming_file(const ModelFile& file, F&& f) {
  try {
    return f();
  } catch (const torchscript::SourceError& error) {  // the place is a line of a record
    throw input_error(error.what()).at(file.path() + ": " + error.place());
  } catch (Error& error) {
    error.at(file.path());
    throw;
  }
}

TraceResult traced(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                   const TraceRequest& wanted, const Listener& listener) {
  return naming_file(file, [&] {
    if (wanted.loaded) return trace_program(wanted.loaded, options, wanted, listener);
    const Timer timer;
    std::unique_ptr<const Program> program = load(info, options, wanted.spent, listener);
    const std::string time = timer.milliseconds();
    listener.progress("loaded " + std::to_string(program->modules().size()) + " modules and " +
                      std::to_string(program->parameters().size()) + " parameters and buffers in " + time);
    TraceResult result = trace_program(std::move(program), options, wanted, listener);
    result.load_time = time;
    return result;
  });
}

}  // namespace

std::unique_ptr<const Program> load_program(const ModelFile& file, const FileInfo& info,
                                            const TraceOptions& options, const Listener& listener) {
  return naming_file(file, [&] { return load(info, options, nullptr, listener); });
}

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

TraceResult trace_file(const ModelFile& file, const FileInfo& info, const std::string& name,
                       const Config& config, TraceRequest wanted, const Listener& listener) {
  wanted.spent = std::make_shared<std::int64_t>(0);  // one budget for the whole trace of a file
  TraceResult result = traced(file, info, config.options, wanted, listener);
  if (config.strict && !result.misfits.empty()) throw usage_error(result.misfits.front().text());
  warn_of(result.misfits, listener);
  warn_of(result.undone, listener);
  warn_of(result.warnings, listener);
  for (const auto& note : result.notes) listener.note(note);
  result.collection.options_json = options_json(config);
  result.collection.model.file = name;
  return result;
}

}  // namespace fxtrace::internal
