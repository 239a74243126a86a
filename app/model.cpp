#include "app/model.h"

#include <chrono>
#include <cstdio>

#include "app/torchscript_loader.h"
#include "exported/exported_program.h"
#include "support/log.h"
#include "trace/config.h"

namespace fxtrace::cli {
namespace {

class Timer {
 public:
  std::string milliseconds() const {
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start_;
    char text[32];
    std::snprintf(text, sizeof text, "%.1f ms", passed.count());
    return text;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

LoadResult load(const InputFile& input, const FileInfo& info, const TraceOptions& options) {
  if (info.kind == FileKind::kExportedProgram) {
    return {std::make_unique<ExportedProgram>(input.path(), info, options.model), {}};
  }
  if (options.model) {
    throw usage_error("--model is only for archives of exported programs; this is " + info.what);
  }
  return load_torchscript_archive(input.path(), options);
}

}  // namespace

std::unique_ptr<Program> load_file(const InputFile& input, const FileInfo& info, const TraceOptions& options,
                                   Console& console) {
  log::info(input.display() + " is " + info.what);
  const Timer load_time;
  LoadResult loaded = with_input(input, [&] { return load(input, info, options); });
  log::info("loaded " + std::to_string(loaded.program->modules().size()) + " modules and " +
            std::to_string(loaded.program->parameters().size()) + " parameters and buffers in " +
            load_time.milliseconds());
  for (const auto& warning : loaded.warnings) console.warning(warning);
  return std::move(loaded.program);
}

GraphCollection trace_program(Program& program, const InputFile& input, const TraceOptions& options,
                              bool strict, Console& console, std::optional<Hint>* hint) {
  const Timer trace_time;
  TraceResult result = with_input(input, [&] { return trace(program, options); });
  std::size_t nodes = 0;
  for (const auto& graph : result.collection.graphs) nodes += graph.graph.size();
  log::info("traced " + std::to_string(result.collection.graphs.size()) + " graphs with " +
            std::to_string(nodes) + " nodes in " + trace_time.milliseconds());
  // An option that does nothing is most likely not the one that was meant.
  if (strict && !result.misfits.empty()) throw usage_error(result.misfits.front());
  for (const auto& misfit : result.misfits) console.warning(misfit);
  for (const auto& warning : result.warnings) console.warning(warning);
  for (const auto& note : result.notes) console.remark("note", note);
  if (hint != nullptr) *hint = find_hint(program, options, result.collection);
  result.collection.model.file = input.base_name();
  result.collection.options_json = options_json(options, strict);
  return std::move(result.collection);
}

GraphCollection trace_file(const InputFile& input, const FileInfo& info, const TraceOptions& options,
                           bool strict, Console& console, std::optional<Hint>* hint) {
  const auto program = load_file(input, info, options, console);
  return trace_program(*program, input, options, strict, console, hint);
}

}  // namespace fxtrace::cli
