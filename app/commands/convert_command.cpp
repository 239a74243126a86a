#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/commands/commands.h"
#include "app/files.h"
#include "app/isolation.h"
#include "app/model.h"
#include "app/option_checks.h"
#include "app/output.h"
#include "app/passes.h"
#include "app/trace_options.h"
#include "convert/lowering.h"
#include "convert/program_archive.h"
#include "exported/program_verifier.h"
#include "support/number_in.h"

namespace fxtrace::cli {
namespace {

struct ConvertArguments : ModelArguments {
  std::string model;
  std::optional<std::string> output;
  std::vector<std::string> hints;
  std::string sample_inputs = "zeros", grad = "off";
  bool no_weights = false, dry_run = false;

  ProgramArchiveOptions archive() const {
    return {.weights = !no_weights, .example_inputs = sample_inputs == "zeros"};
  }
};

bool may_be_chosen(const OptionRow& row) {
  const std::string_view key = row.key == nullptr ? "" : row.key;
  return row.group != kLeaves && key != "hooks" && key != "control_flow" && key != "cost";
}

// Everything is traced into, so that the graph is of operators alone.
void fix_settings(TraceOptions& options) {
  options.default_leaves = false;
  options.default_wrap = false;
  options.leaf_rules.clear();
  options.wrap_rules.clear();
  options.max_depth.reset();
  options.hooks = Hooks::kRun;
  options.control_flow = ControlFlow::kSubgraph;
}

LoweringOptions lowering_options(const ConvertArguments& arguments, const TraceOptions& options) {
  LoweringOptions result{options.dimensions, {}, options.concrete};
  for (const std::string& text : arguments.hints) {
    const std::size_t equals = text.find('=');
    const std::optional<std::int64_t> number =
        equals == std::string::npos ? std::nullopt : number_in<std::int64_t>(std::string_view(text).substr(equals + 1));
    if (!number || *number < 0) throw usage_error("--hint is NAME=NUMBER, not '" + text + "'");
    result.hints[text.substr(0, equals)] = *number;
  }
  return result;
}

std::string line_of(const Refusal& refusal) {
  std::string line = refusal.what;
  if (!refusal.module.empty()) line += " in " + refusal.module;
  line += ": " + refusal.why;
  if (!refusal.help.empty()) line += "; " + refusal.help;
  if (const auto& source = refusal.source; source && source->line > 0)
    line += " (" + source->file + ":" + std::to_string(source->line) + ": " + source->text + ")";
  return line;
}

// Says all of it at once, each kind once.
void report(const std::vector<Refusal>& refusals, const InputFile& input, Console& console) {
  console.error(input.with_display(
      input_error("a program of torch.export cannot say all that this model does; nothing was written")));
  std::map<std::string, std::size_t> counts;
  for (const Refusal& refusal : refusals) ++counts[refusal.what + "\n" + refusal.why];
  for (const Refusal& refusal : refusals) {
    std::size_t& count = counts[refusal.what + "\n" + refusal.why];
    if (count == 0) continue;
    const std::string more = count == 1 ? "" : ", and " + std::to_string(count - 1) + " more such";
    console.remark("refused", line_of(refusal) + more);
    count = 0;
  }
}

// What was written is looked at before anybody sees it.
void verify_written(const ModelFile& file) {
  const std::vector<ProgramFault> faults = verify_programs(identify_file(file), {.contents = false});
  if (faults.empty()) return;
  const ProgramFault& first = faults.front();
  std::string where = first.node ? " at " + *first.node : "";
  if (first.record) where = " in " + *first.record;
  if (!first.module.empty()) where += " in " + first.module;
  throw Error(ErrorKind::kInternal, "the program that was made is not right" + where + ": " + first.message);
}

int convert(const ConvertArguments& arguments, const Config& config, const InputFile& input, Output* output,
            Isolated& isolated, Console& console) {
  const FileInfo info = with_input(input, [&] { return identify_file(input.file()); });
  TraceResult& traced = trace_file(input, info, config, {}, isolated, console);
  run_passes(config.passes, traced.collection, console);
  Lowered& lowered = isolated.keep(with_input(
      input, [&] { return lower(traced.collection, *traced.program, lowering_options(arguments, config.options)); }));
  if (!lowered.refusals.empty()) {
    report(lowered.refusals, input, console);
    return kModuleFailed;
  }
  for (const std::string& note : lowered.notes) console.note(note);
  if (output == nullptr) return kDone;
  output->write([&](std::ostream& out) {
    with_input(input, [&] {
      write_program_archive(lowered.program, *traced.program, input.file(), arguments.archive(), out);
    });
  });
  output->examine(verify_written);
  return kDone;
}

int run_convert(ConvertArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  fix_settings(config.options);
  config.options.grad = arguments.grad == "on";
  if (!arguments.output && !arguments.dry_run)
    throw usage_error("say where to: -o OUT.pt2", {"--dry-run tells whether the model can be converted"});
  const InputFile input(arguments.model, console.in());
  Output output(arguments.dry_run ? "-" : *arguments.output, input, console);
  output.allow_any_size();  // as large as the weights
  return run_isolated(arguments.isolation, input, output, console, config.options, [&](Isolated& isolated) {
    return convert(arguments, config, input, arguments.dry_run ? nullptr : &output, isolated, console);
  });
}

}  // namespace

Command make_convert_command(CLI::App& app) {
  auto arguments = std::make_shared<ConvertArguments>();
  app.description(
      "Make a program of torch.export (.pt2) of a TorchScript archive, without torch: torch.export.load takes it, and "
      "what compiles such programs. Weights are copied as they are. What a program cannot say is refused, all of it at "
      "once, with exit code 4 and no file.");
  app.footer(
      "  fxtrace convert model.pt -o model.pt2 --input 'x=float32[batch,3,224,224]' --dim batch=1..64\n"
      "  fxtrace convert model.pt --dry-run\n");
  app.add_option("MODEL", arguments->model, "the model file, or - for stdin")->required();
  const char* group = "Output";
  add_last_value(app, group, "-o,--output", arguments->output, "FILE",
                 "the program to write; FILE is left as it was if anything fails");
  app.add_flag("--dry-run", arguments->dry_run, "only say what cannot be converted, and what is assumed")
      ->group(group);
  add_last_value(app, group, "--grad", arguments->grad, "on|off",
                 "what the program takes for so where the code asks whether gradients are enabled. Default: off")
      ->check(one_of({"on", "off"}));
  app.add_flag("--no-weights", arguments->no_weights, "without weights: all parameters and buffers are zero")
      ->group(group);
  add_value(app, group, "--hint", arguments->hints, "NAME=N",
            "an example of a dimension, for compilers. Default: 2, or the least that --dim allows")
      ->allow_extra_args(false);
  add_last_value(app, group, "--sample-inputs", arguments->sample_inputs, "zeros|none",
                 "example inputs to write: zeros, of a few bytes (default), or none")
      ->check(one_of({"zeros", "none"}));
  arguments->add_to(app, may_be_chosen);
  return [arguments](Console& console) { return run_convert(*arguments, console); };
}

}  // namespace fxtrace::cli
