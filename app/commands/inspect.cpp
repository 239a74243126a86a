#include "app/commands/inspect.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/inspection.h"
#include "app/isolation.h"
#include "app/model.h"
#include "app/output.h"
#include "app/trace_options.h"
#include "app/verbose.h"
#include "exported/archive.h"
#include "graph/summary.h"
#include "support/printable.h"

namespace fxtrace::cli {
namespace {

struct Arguments {
  TraceArguments trace;
  std::string model;
  bool json = false;
  IsolationArguments isolation;
  VerboseArgument verbose;
};

// Of an archive that holds several exported programs, when the options name none: all their names.
std::vector<std::string> models_to_choose_from(const InputFile& input, const FileInfo& info,
                                               const TraceOptions& options) {
  if (info.kind != FileKind::kExportedProgram || options.model) return {};
  auto models = with_input(input, [&] { return ExportedArchive(input.file(), info).models(); });
  if (models.size() < 2) models.clear();
  return models;
}

void write_models(const Arguments& arguments, const InputFile& input, const FileInfo& info,
                  const std::vector<std::string>& models, std::ostream& out) {
  if (arguments.json) {
    auto json = file_json(input.base_name(), info);
    json["models"] = models;
    write_json_document(json, out);
    return;
  }
  out << headline(input.base_name(), info) << "\n"
      << "it holds " << models.size() << " models; --model NAME shows one:\n";
  for (const auto& model : models) out << "  " << one_line(model) << "\n";
}

int inspect(const Arguments& arguments, const Config& config, const InputFile& input, Output& output,
            Isolated& isolated, Console& console) {
  const TraceOptions& options = config.options;
  const FileInfo info = with_input(input, [&] { return identify_file(input.file()); });
  if (!is_traceable(info.kind)) {
    // For programs, what the error says.
    if (arguments.json) {
      output.write([&](std::ostream& out) { write_json_document(file_json(input.base_name(), info), out); });
    }
    throw input.with_display(not_traceable(info));
  }

  if (const auto models = models_to_choose_from(input, info, options); !models.empty()) {
    output.write([&](std::ostream& out) { write_models(arguments, input, info, models, out); });
    return kDone;
  }

  Wanted wanted;
  wanted.description = true;
  wanted.graphs_if_any = true;
  Inspection inspection = cli::inspect(std::move(trace_file(input, info, config, wanted, isolated, console)),
                                       info, options.method);
  inspection.max_depth = options.max_depth;
  output.write([&](std::ostream& out) {
    if (arguments.json) {
      write_inspection_json(inspection, out);
    } else {
      write_inspection_text(inspection, out);
    }
  });
  return config.strict && count_failed(inspection.collection) > 0 ? kModuleFailed : kDone;
}

int run(const Arguments& arguments, Console& console) {
  arguments.verbose.set_up_log(console);
  const Config config = arguments.trace.resolve();
  const InputFile input(arguments.model, console.in());
  Output output("-", input, console);
  return run_isolated(arguments.isolation, input, output, console, [&](Isolated& isolated) {
    return inspect(arguments, config, input, output, isolated, console);
  });
}

}  // namespace

Command make_inspect_command(CLI::App& parent) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* app = parent.add_subcommand(
      "inspect",
      "Show what a model file holds: inputs and outputs, methods, parameters and modules. The table of modules "
      "has their types, the number of elements in their own parameters and in all parameters below them, the "
      "bytes of the latter, and what a trace with these options makes of each module; --max-depth N cuts it at "
      "that depth. For an archive of several exported programs, lists them unless --model names one.");
  app->footer(
      "  fxtrace inspect model.pt\n"
      "  fxtrace inspect model.pt2 --json --max-depth 2\n");
  app->add_option("MODEL", arguments->model, "the model file, or - for stdin")->required();
  arguments->trace.add_to(*app);

  app->add_flag("--json", arguments->json, "write JSON instead of text")->group("Output");
  arguments->isolation.add_to(*app);
  arguments->verbose.add_to(*app);
  return {app, [arguments](Console& console) { return run(*arguments, console); }};
}

}  // namespace fxtrace::cli
