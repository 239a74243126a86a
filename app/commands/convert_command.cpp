// `fxtrace convert`: converts a TorchScript archive, or a part or a changed form of any model, to a program
// of torch.export (.pt2).
// A method is traced down to operators, lowered to the form of torch.export (lib/convert), written as an
// archive with the weights copied, and checked again before the file becomes visible.  Everything that a
// program cannot express is collected and reported at once, and then no file is written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/commands/commands.h"
#include "app/options/option_checks.h"
#include "app/options/refusals.h"
#include "app/options/trace_options.h"
#include "app/output/files.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "pipelines/answers/conversion.h"
#include "support/text/numbers.h"

namespace fxtrace::internal::cli {
namespace {

constexpr std::string_view kExtension = ".pt2";

struct ConvertArguments : ModelArguments {
  std::string model;
  std::optional<std::string> output;
  std::vector<std::string> methods;
  ExtractRequest part;
  std::vector<std::string> hints, names, taps;
  std::optional<std::string> for_torch;
  std::string sample_inputs = "zeros", grad = "off", dialect = "training", quantized = "decomposed",
              state = "refuse";
  std::vector<std::size_t> dropped_outputs;
  bool no_weights = false, external_weights = false, dry_run = false;

  void check() const {  // throws Error(kUsage)
    if (!output && !dry_run)
      throw usage_error("missing the output file: -o OUT.pt2", {"--dry-run tells whether the model can be "
                                                                "converted"});
    check_request(part);
    if (external_weights && no_weights)
      throw usage_error("--external-weights and --no-weights exclude each other");
    if (external_weights && output && !output->ends_with(kExtension))
      throw usage_error(
          "--external-weights writes a second file beside that of -o, whose name has to end in .pt2");
    if (has_part() && methods.size() > 1) throw usage_error("a part can be converted for one --method only");
  }
  bool has_part() const { return part.module || !part.from.empty() || !part.to.empty(); }
};

// Returns whether the option changes the trace, and not only selects the model.
bool is_no_choice(const OptionRow& row) { return row.key != "model"; }

std::map<std::string, std::int64_t> read_hints(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> hints;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::optional<std::int64_t> number =
        equals == std::string::npos ? std::nullopt
                                    : number_in<std::int64_t>(std::string_view(text).substr(equals + 1));
    if (!number || *number < 0) throw usage_error("--hint expects NAME=NUMBER, got '" + text + "'");
    hints[text.substr(0, equals)] = *number;
  }
  return hints;
}

std::vector<std::pair<std::string, std::string>> read_names(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const std::string& text : texts) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      const std::string one = text.substr(at, end - at);
      const std::size_t equals = one.find('=');
      if (equals == 0 || equals >= one.size() - 1 || one.empty())
        throw usage_error("--rename expects OLD=NEW, got '" + one + "'");
      names.emplace_back(one.substr(0, equals), one.substr(equals + 1));
      at = end + 1;
    }
  }
  return names;
}

int convert(const ConvertArguments& arguments, const Config& config, const std::vector<std::string>& methods,
            const InputFile& input, Output* output, Isolated& isolated, Console& console) {
  const ConversionRequest request{
      .methods = methods,
      .sharing = arguments.methods,
      .part = arguments.part,
      .hints = read_hints(arguments.hints),
      .has_example_inputs = arguments.sample_inputs == "zeros",
      .grad = arguments.grad == "on",
      .is_functional = arguments.dialect == "aten",
      .freezes_state = arguments.state == "freeze",
      .decomposes_quantized = arguments.quantized == "decomposed",
      .dropped_outputs = {arguments.dropped_outputs.begin(), arguments.dropped_outputs.end()},
      .taps = arguments.taps,
      .names = read_names(arguments.names),
      .for_torch = arguments.for_torch,
      .has_external_weights = arguments.external_weights,
      .is_changed = arguments.trace.any(is_no_choice)};
  Conversion& conversion = isolated.keep_alive(convert_model(config, request, input, isolated));
  if (!conversion.refusals.empty()) {
    report_refusals(conversion.refusals, input, console);
    return kModuleFailed;
  }
  if (output == nullptr) return kDone;
  // The program is written last: nothing is committed without it.
  if (Output* beside = output->beside())
    beside->write([&](std::ostream& out) { conversion.write_weights(input.file(), out); });
  output->write([&](std::ostream& out) {
    conversion.write(input.file(), !arguments.no_weights && !arguments.external_weights, out);
  });
  // What the lowering should have refused is refused here, before it becomes visible.
  const bool is_valid = output->examine([&](const ModelFile& file) {
    add_faults(identify_file(file), conversion.refusals);
    return conversion.refusals.empty();
  });
  if (!is_valid) report_refusals(conversion.refusals, input, console);
  return is_valid ? kDone : kModuleFailed;
}

// Converts methods to the programs of one file.
int convert_to(const std::string& file, const std::vector<std::string>& methods,
               const ConvertArguments& arguments, Config& config, const InputFile& input, Console& console) {
  Output output(file, input, console);
  output.allow_any_size();  // as large as the weights
  if (arguments.external_weights && !arguments.dry_run) {
    const std::string stem = file.substr(0, file.size() - kExtension.size());
    output.add_beside(std::make_unique<Output>(stem + ".safetensors", input, console));
  }
  try {
    return run_isolated(arguments.isolation, input, output, console, config.options, [&](Isolated& isolated) {
      return convert(arguments, config, methods, input, arguments.dry_run ? nullptr : &output, isolated,
                     console);
    });
  } catch (const Error& error) {  // other methods are converted all the same
    console.error(error);
    return exit_code(error.kind());
  }
}

int run_convert(ConvertArguments& arguments, Console& console) {
  arguments.check();
  Config config = arguments.set_up(console);
  if (arguments.methods.empty()) arguments.methods.push_back(config.options.method);
  const InputFile input(arguments.model, console, arguments.isolation.seconds());
  const std::string file = arguments.dry_run ? "-" : *arguments.output;
  const std::size_t place = file.find("%s");
  if (place == std::string::npos)
    return convert_to(file, arguments.methods, arguments, config, input, console);
  int worst = kDone;
  for (const std::string& method : arguments.methods) {
    const std::string own = std::string(file).replace(place, 2, method);
    worst = std::max(worst, convert_to(own, {method}, arguments, config, input, console));
  }
  return worst;
}

}  // namespace

Command make_convert_command(CLI::App& app) {
  auto arguments = std::make_shared<ConvertArguments>();
  app.description(
      app.get_description() +
      " Weights are copied as they are. Everything that a program cannot express is reported at once, with "
      "exit code 4 and no file. An exported program is written anew: in the newest layout and without "
      "pickled weights, after graph passes, or a part of it.");
  app.footer(
      "  fxtrace convert model.pt -o model.pt2 --input 'x=float32[batch,3,224,224]' --dim batch=1..64\n"
      "  fxtrace convert model.pt --dry-run\n"
      "  fxtrace convert model.pt2 -o layer.pt2 --module encoder.layers.0\n");
  app.add_option("MODEL", arguments->model, "the model file, or - for stdin")->required();
  const char* group = "Output";
  add_last_value(
      app, group, "-o,--output", arguments->output, "FILE",
      "the program to write; FILE is left as it was if anything fails. With %s in its name, one file for "
      "each --method");
  app.add_flag("--dry-run", arguments->dry_run, "only report what cannot be converted, and what is assumed")
      ->group(group);
  add_last_value(app, group, "--grad", arguments->grad, "on|off",
                 "what the program assumes where the code asks whether gradients are enabled. Default: off")
      ->check(one_of({"on", "off"}));
  add_last_value(app, group, "--dialect", arguments->dialect, "training|aten",
                 "training (default) keeps writes in place; aten has none: the pass functional runs")
      ->check(one_of({"training", "aten"}));
  add_last_value(app, group, "--quantized", arguments->quantized, "decomposed|refuse",
                 "quantized tensors and layers: decomposed (default) into integer tensors, and ordinary "
                 "operators between dequantize and quantize")
      ->check(one_of({"decomposed", "refuse"}));
  add_last_value(
      app, group, "--state", arguments->state, "refuse|freeze",
      "attributes with numbers, texts or lists that a run changes: refuse (default), or freeze them at what "
      "they are in the file")
      ->check(one_of({"refuse", "freeze"}));
  add_value(app, group, "--drop-output", arguments->dropped_outputs, "N",
            "leave out a result of the method, counted from 0; repeatable")
      ->allow_extra_args(false);
  add_last_value(
      app, group, "--for-torch", arguments->for_torch, "2.N",
      "write what torch 2.N loads (2.6 to 2.15): its layout, fields and operators; what it lacks is "
      "replaced by an equal or refused. Default: what torch 2.9 and newer load");
  add_value(app, group, "--rename", arguments->names, "OLD=NEW",
            "new names of dimensions, inputs and results: s77=batch,arg0=pixels; repeatable")
      ->allow_extra_args(false);
  add_value(app, group, "--tap", arguments->taps, "NODE",
            "add the value of a node to the results, by its name in the trace; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--no-weights", arguments->no_weights, "write no weights: all parameters and buffers are zero")
      ->group(group);
  app.add_flag("--external-weights", arguments->external_weights,
               "write the weights to a safetensors file beside FILE (model.safetensors for model.pt2), and "
               "zeros to FILE")
      ->group(group);
  add_value(app, group, "--hint", arguments->hints, "NAME=N",
            "an example size of a dimension, for compilers. Default: one with which no size is 0, 1, another "
            "size or a number of the graph")
      ->allow_extra_args(false);
  add_last_value(app, group, "--sample-inputs", arguments->sample_inputs, "zeros|none",
                 "example inputs to write: zeros, of a few bytes (default), or none")
      ->check(one_of({"zeros", "none"}));
  add_value(app, group, "--method", arguments->methods, "NAME",
            "the method of the root to convert; default forward. Several become several programs of one "
            "file; each takes the --input and --concrete that name its own inputs")
      ->allow_extra_args(false);
  const char* part_group = "Part";
  ExtractRequest& part = arguments->part;
  add_last_value(app, part_group, "--module", part.module, "PATH", "convert only a call of the module PATH");
  add_last_value(app, part_group, "--call", part.call, "N",
                 "the number of the module's call, from 1. Default: 1")
      ->check(integer_from(1));
  add_value(app, part_group, "--from", part.from, "NODE",
            "a node that the part begins with, by its name in the trace; repeatable. Default: all that --to "
            "needs")
      ->allow_extra_args(false);
  add_value(app, part_group, "--to", part.to, "NODE",
            "a node that the part ends with; repeatable. Default: the graph's output")
      ->allow_extra_args(false);
  arguments->add_to(app);
  return [arguments](Console& console) { return run_convert(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
