#include "app/commands/inspect.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/compiled_models.h"
#include "app/inspection.h"
#include "app/isolation.h"
#include "app/model.h"
#include "app/output.h"
#include "app/trace_options.h"
#include "app/verbose.h"
#include "archive/compiled_model.h"
#include "exported/archive.h"
#include "graph/summary.h"
#include "support/error.h"
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

// What the archive holds besides the one exported program that is traced.
struct Contents {
  std::vector<std::string>
      to_choose_from;                   // exported programs, when there are several and the options name none
  std::vector<CompiledModel> compiled;  // all, or the one that the options name
  bool shows_compiled_only = false;     // the options name one, or there is nothing else
};

bool is_named(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Contents contents_of(const InputFile& input, const FileInfo& info, const TraceOptions& options) {
  Contents contents;
  contents.shows_compiled_only = info.kind == FileKind::kAotInductor;
  if (info.kind != FileKind::kExportedProgram && !contents.shows_compiled_only) return contents;
  std::vector<std::string> programs;
  if (!contents.shows_compiled_only) programs = ExportedArchive(input.file(), info).models();
  if (options.model && is_named(programs, *options.model)) return contents;
  contents.compiled = read_compiled_models(input.file(), info);
  if (!options.model) {
    if (programs.size() > 1) contents.to_choose_from = std::move(programs);
    return contents;
  }
  std::erase_if(contents.compiled, [&](const CompiledModel& model) { return model.name != *options.model; });
  if (!contents.compiled.empty()) contents.shows_compiled_only = true;
  if (contents.shows_compiled_only && contents.compiled.empty()) {
    throw usage_error("no model named '" + *options.model +
                      "' in the archive; without --model, inspect shows all");
  }
  return contents;
}

// Of an archive of which nothing is traced: its models.
void write_contents(const Arguments& arguments, const InputFile& input, const FileInfo& info,
                    const Contents& contents, std::ostream& out) {
  if (arguments.json) {
    auto json = file_json(input.base_name(), info);
    if (!contents.to_choose_from.empty()) json["models"] = contents.to_choose_from;
    if (!contents.compiled.empty()) json["compiled_models"] = compiled_models_json(contents.compiled);
    write_json_document(json, out);
    return;
  }
  out << headline(input.base_name(), info) << "\n";
  if (!contents.to_choose_from.empty()) {
    out << "it holds " << contents.to_choose_from.size() << " models; --model NAME shows one:\n";
    for (const auto& model : contents.to_choose_from) out << "  " << one_line(model) << "\n";
  }
  write_compiled_models(contents.compiled, out);
  if (contents.shows_compiled_only) {
    out << "\nTo trace what was compiled, save the exported program it was made of: torch.export.save(program, "
           "\"model.pt2\")\n";
  }
}

int inspect(const Arguments& arguments, const Config& config, const InputFile& input, Output& output,
            Isolated& isolated, Console& console) {
  const TraceOptions& options = config.options;
  const FileInfo info = with_input(input, [&] { return identify_file(input.file()); });
  const Contents contents = with_input(input, [&] { return contents_of(input, info, options); });
  if (contents.shows_compiled_only || !contents.to_choose_from.empty()) {
    output.write([&](std::ostream& out) { write_contents(arguments, input, info, contents, out); });
    return kDone;
  }
  if (!is_traceable(info.kind)) {
    // For programs, what the error says.
    if (arguments.json) {
      output.write([&](std::ostream& out) { write_json_document(file_json(input.base_name(), info), out); });
    }
    throw input.with_display(not_traceable(info));
  }

  Wanted wanted;
  wanted.description = true;
  wanted.graphs_if_any = true;
  Inspection inspection = cli::inspect(std::move(trace_file(input, info, config, wanted, isolated, console)),
                                       info, options.method);
  inspection.max_depth = options.max_depth;
  inspection.compiled = contents.compiled;
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
      "that depth. For an archive of several exported programs, lists them unless --model names one. Of models that "
      "AOTInductor compiled, shows the platform, the constants and the files.");
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
