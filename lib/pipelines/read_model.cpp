#include "pipelines/read_model.h"

#include <memory>
#include <utility>

#include "exported/program/exported_program.h"
#include "interpreter/load.h"
#include "pipelines/libtorch/operator_libraries.h"
#include "pipelines/passes.h"
#include "pipelines/saved_collection.h"
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

const FxtraceEngine* open_libraries(TraceOptions& options, bool runs_model, Run& run) {
  const FxtraceEngine* engine = nullptr;
  if (runs_model) {
    run.begins(Stage::kLoadLibTorch);
    engine = &open_engine(run.listener());
  }
  if (!options.op_libraries.empty()) {
    run.begins(Stage::kLoadLibTorch);
    open_execute_plugin(run.listener(), "--op-library");
    run.begins(Stage::kLoadOperators);
    options.registered = load_operators(options.op_libraries, run.listener());
  }
  run.begins(Stage::kFxtrace);
  run.all_is_open(runs_model);
  return engine;
}

TraceResult trace_file(const NamedFile& file, const FileInfo& info, const Config& config, TraceRequest wanted,
                       const Listener& listener) {
  wanted.spent = std::make_shared<std::int64_t>(0);  // one budget for the whole trace of a file
  TraceResult result = traced(file.file, info, config.options, wanted, listener);
  if (config.strict && !result.unmatched_options.empty())
    throw usage_error(result.unmatched_options.front().text());
  warn_of(result.unmatched_options, listener);
  warn_of(result.unfollowed_options, listener);
  warn_of(result.warnings, listener);
  for (const auto& note : result.notes) listener.note(note);
  result.collection.options_json = options_json(config);
  result.collection.model.file = file.name;
  return result;
}

TraceResult& trace_file(const NamedFile& file, const FileInfo& info, const Config& config,
                        const TraceRequest& wanted, Run& run) {
  run.listener().progress(file.file.path() + " is " + info.what);
  TraceResult& result = run.keep_alive(trace_file(file, info, config, wanted, run.listener()));
  if (config.strict && !result.unfollowed_options.empty())
    run.fail_strict(
        input_error("an option could not be followed: " + result.unfollowed_options.front().text())
            .at(file.file.path()));
  return result;
}

bool may_be_collection(const ModelFile& file, const FileInfo& info) {
  constexpr std::size_t kBeginning = 64;
  if (info.kind != FileKind::kText) return false;
  const std::string text = file.read_at(0, kBeginning);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

GraphCollection read_saved_collection(bool has_trace_options, const ModelFile& file,
                                      const Listener& listener) {
  if (has_trace_options)
    throw usage_error("options of a trace do not apply to " + file.path() + ", which is traced already");
  return read_collection_file(file, listener);
}

TraceResult& trace_or_read(const Config& config, bool has_trace_options, const NamedFile& file, Run& run) {
  const FileInfo info = at_file(file.file, [&] { return identify_file(file.file); });
  if (is_traceable(info.kind)) return trace_file(file, info, config, {}, run);
  if (!may_be_collection(file.file, info)) throw not_traceable(info).at(file.file.path());
  TraceResult& result = run.keep_alive(TraceResult{});
  result.collection = read_saved_collection(has_trace_options, file.file, run.listener());
  result.collection.model.file = file.name;
  return result;
}

GraphCollection& read_model_or_collection(const Config& config, bool has_trace_options, const NamedFile& file,
                                          Run& run) {
  GraphCollection& collection = trace_or_read(config, has_trace_options, file, run).collection;
  run_passes(config.passes, collection, run.listener());
  return collection;
}

}  // namespace fxtrace::internal
