// `fxtrace inspect`: shows the content of a model file: its inputs and outputs, methods, parameters and
// modules.
#include "app/commands/commands.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/options/trace_options.h"
#include "app/output/formats.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "pipelines/answers/questions.h"
#include "support/error.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal::cli {
namespace {

struct InspectArguments : ModelArguments {
  std::string model;
  AnswerArguments answer{{{".txt"}, {".json", "--json", "write JSON (schemas/inspection.schema.json)"}}};
};

int inspect(const InspectArguments& arguments, const Config& config, const InputFile& input, Output& output,
            Isolated& isolated) {
  const bool is_json = arguments.answer.format().is_json();
  const auto found = inspect_file(config, input, isolated);
  if (const auto* inspection = std::get_if<Inspection>(&found)) {
    output.write([&](std::ostream& out) {
      is_json ? write_inspection_json(*inspection, out) : write_inspection_text(*inspection, out);
    });
    return kDone;
  }
  const auto& listing = std::get<FileInspection>(found);
  const bool has_programs = listing.compiled_only || !listing.to_choose_from.empty();
  // For files without a program, the JSON has, for programs, what the error says.
  if (has_programs || is_json)
    output.write(
        [&](std::ostream& out) { is_json ? write_file_json(listing, out) : write_file_text(listing, out); });
  if (!has_programs) throw not_traceable(listing.file).at(input.display());
  return kDone;
}

int run_inspect(const InspectArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  static_cast<void>(arguments.answer.format());  // a wrong one is told before any work
  const InputFile input(arguments.model, console, arguments.isolation.seconds());
  Output output(arguments.answer.output(), input, console);
  return run_isolated(arguments.isolation, input, output, console, config.options, [&](Isolated& isolated) {
    return inspect(arguments, config, input, output, isolated);
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

  arguments->answer.add_to(app);
  arguments->isolation.add_to(app);
  arguments->verbose.add_to(app);
  return [arguments](Console& console) { return run_inspect(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
