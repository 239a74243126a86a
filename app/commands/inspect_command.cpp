// `fxtrace inspect`: shows the content of a model file: its inputs and outputs, methods, parameters and
// modules.
#include "app/commands/commands.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/exit_codes.h"
#include "app/options/model.h"
#include "app/options/trace_options.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "archive/compiled_model.h"
#include "exported/program/exported_archive.h"
#include "graph/analysis/collection_summary.h"
#include "support/error.h"
#include "writers/reports/inspection_writers.h"

namespace fxtrace::internal::cli {
namespace {

struct InspectArguments : ModelArguments {
  std::string model;
  bool json = false;
};

// Returns the list of programs of an archive, which is shown if there are several or a compiled one;
// otherwise the one program is traced.
FileInspection listing_of(const std::string& name, const FileInfo& info, const TraceOptions& options) {
  FileInspection listing{name, info};
  listing.compiled_only = info.kind == FileKind::kAotInductor;
  if (info.kind != FileKind::kExportedProgram) return listing;
  const ExportedArchive archive(info);
  const auto& programs = archive.models();
  if (!options.model) {
    if (programs.size() > 1) listing.to_choose_from = programs;
  } else if (std::ranges::find(programs, *options.model) == programs.end()) {
    listing.compiled_only = archive.has_compiled(*options.model);
  }
  return listing;
}

// Returns all compiled models of the archive, or those that --model names.
std::vector<CompiledModel> compiled_models_of(const FileInfo& info, const TraceOptions& options) {
  auto models = read_compiled_models(info);
  if (!options.model) return models;
  std::erase_if(models, [&](const CompiledModel& model) { return model.name != *options.model; });
  if (models.empty()) {
    throw usage_error("no model named '" + *options.model +
                      "' in the archive; without --model, inspect shows all");
  }
  return models;
}

int inspect(const InspectArguments& arguments, const Config& config, const InputFile& input, Output& output,
            Isolated& isolated, Console& console) {
  const TraceOptions& options = config.options;
  const FileInfo info = with_input(input, [&] { return identify_file(input.file()); });
  FileInspection listing = with_input(input, [&] { return listing_of(input.base_name(), info, options); });
  const auto write = arguments.json ? write_file_json : write_file_text;
  if (listing.compiled_only || !listing.to_choose_from.empty()) {
    listing.compiled = with_input(input, [&] { return compiled_models_of(info, options); });
    output.write([&](std::ostream& out) { write(listing, out); });
    return kDone;
  }
  if (!is_traceable(info.kind)) {
    // The JSON has, for programs, what the error says.
    if (arguments.json) output.write([&](std::ostream& out) { write_file_json(listing, out); });
    throw input.with_display(not_traceable(info));
  }

  TraceRequest wanted;
  wanted.description = true;
  wanted.graphs_if_any = true;
  TraceResult& traced = trace_file(input, info, config, wanted, isolated, console);
  Inspection inspection =
      inspect_model(std::move(traced.collection), std::move(traced.description), info, options.method);
  inspection.max_depth = options.max_depth;
  if (info.kind == FileKind::kExportedProgram && !options.model) {
    inspection.compiled = with_input(input, [&] { return compiled_models_of(info, options); });
  }
  output.write([&](std::ostream& out) {
    arguments.json ? write_inspection_json(inspection, out) : write_inspection_text(inspection, out);
  });
  return config.strict && count_failed(inspection.collection) > 0 ? kModuleFailed : kDone;
}

int run_inspect(const InspectArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  const InputFile input(arguments.model, console, arguments.isolation.seconds());
  Output output("-", input, console);
  return run_isolated(arguments.isolation, input, output, console, config.options, [&](Isolated& isolated) {
    return inspect(arguments, config, input, output, isolated, console);
  });
}

}  // namespace

Command make_inspect_command(CLI::App& app) {
  auto arguments = std::make_shared<InspectArguments>();
  app.description(
      app.get_description() +
      " The table of modules has their types, the number of elements in their own parameters and in all "
      "parameters below them, the bytes of the latter, and what a trace with these options makes of each "
      "module; --max-depth N cuts it at that depth. For an archive of several exported programs, lists them "
      "unless --model names one. For models that AOTInductor compiled, shows the platform, the constants "
      "and the files.");
  app.footer(
      "  fxtrace inspect model.pt\n"
      "  fxtrace inspect model.pt2 --json --max-depth 2\n");
  app.add_option("MODEL", arguments->model, "the model file, or - for stdin")->required();
  arguments->trace.add_to(app);

  app.add_flag("--json", arguments->json, "write JSON instead of text")->group("Output");
  arguments->isolation.add_to(app);
  arguments->verbose.add_to(app);
  return [arguments](Console& console) { return run_inspect(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
