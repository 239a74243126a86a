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
#include "app/exit_codes.h"
#include "app/options/model.h"
#include "app/options/option_checks.h"
#include "app/options/passes.h"
#include "app/options/refusals.h"
#include "app/options/trace_options.h"
#include "app/output/files.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "convert/lower/lowering.h"
#include "convert/write/program_archive.h"
#include "convert/write/program_copy.h"
#include "convert/write/safetensors_file.h"
#include "exported/program/exported_program.h"
#include "exported/verifier/program_verifier.h"
#include "fxtrace/pipeline.h"
#include "fxtrace/saved_collection.h"
#include "security/security_scan.h"
#include "support/text/number_in.h"
#include "support/text/shell_word.h"

namespace fxtrace::internal::cli {
namespace {

constexpr std::string_view kExtension = ".pt2";

struct ConvertArguments : ModelArguments {
  std::string model;
  std::optional<std::string> output;
  std::vector<std::string> methods;
  ExtractRequest part;
  std::vector<std::string> hints;
  std::string sample_inputs = "zeros", grad = "off", dialect = "training", quantized = "decomposed",
              state = "refuse";
  std::vector<std::size_t> dropped_outputs;
  bool no_weights = false, external_weights = false, dry_run = false;

  void check() const {  // throws Error(kUsage)
    if (!output && !dry_run)
      throw usage_error("missing the output file: -o OUT.pt2", {"--dry-run tells whether the model can be "
                                                                "converted"});
    if (part.module && !(part.from.empty() && part.to.empty()))
      throw usage_error("a module and --from or --to exclude each other");
    if (part.call && !part.module) throw usage_error("--call needs a module: --module PATH --call N");
    if (external_weights && no_weights)
      throw usage_error("--external-weights and --no-weights exclude each other");
    if (external_weights && output && !output->ends_with(kExtension))
      throw usage_error(
          "--external-weights writes a second file beside that of -o, whose name has to end in .pt2");
    if (has_part() && methods.size() > 1) throw usage_error("a part can be converted for one --method only");
  }
  bool has_part() const { return part.module || !part.from.empty() || !part.to.empty(); }
  bool is_functional() const { return dialect == "aten"; }
  bool is_without_weights() const { return no_weights || external_weights; }
  bool example_inputs() const { return sample_inputs == "zeros"; }
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
    const auto [hint, is_new] = hints.emplace(text.substr(0, equals), *number);
    if (!is_new)
      throw usage_error("--hint " + shell_word(hint->first) +
                        ": given twice: " + std::to_string(hint->second) + " and " + std::to_string(*number));
  }
  return hints;
}

// The programs and refusals of a conversion, kept until they are written.
struct Conversion {
  std::vector<ProgramRecords> programs;
  std::vector<Refusal> refusals;
};

// Copies an exported program that is only to be written anew.
void copy(const ConvertArguments& arguments, const ExportedProgram& program, const InputFile& input,
          const FileInfo& info, Conversion& conversion) {
  conversion.programs.push_back(copy_program(program, arguments.example_inputs(), conversion.refusals));
  add_faults(info, conversion.refusals);
  const std::string graph = program.archive().program_record(program.name());
  const std::string examples = program.archive().example_inputs_record(program.name());
  for (const SecurityFinding& finding : scan_security(input.file(), info)) {
    if (finding.kind == SecurityKind::kLibrary ||
        (finding.record != graph && !finding.record.starts_with(examples)))
      continue;
    if (std::ranges::find(conversion.refusals, finding.message, &Refusal::why) == conversion.refusals.end())
      conversion.refusals.push_back({.what = finding.record, .why = finding.message});
  }
  const auto is_example = [&](const Refusal& refusal) { return refusal.what.starts_with(examples); };
  if (!arguments.example_inputs()) std::erase_if(conversion.refusals, is_example);
  for (Refusal& refusal : conversion.refusals) {
    if (is_example(refusal)) refusal.help = "--sample-inputs none";
  }
}

// Keeps the options of inputs that belong to this method, as several methods share the options.
void keep_own_inputs(const Program& program, const std::vector<std::string>& methods, TraceOptions& options) {
  std::set<std::string> own, others;
  for (const std::string& method : methods) {
    for (const InputGuess& input : program.guess_inputs(method))
      (method == options.method ? own : others).insert(input.name);
  }
  const auto is_of_another = [&](const auto& given) {
    const std::string name = given.name.substr(0, given.name.find('.'));
    return !own.contains(name) && others.contains(name);
  };
  std::erase_if(options.inputs, is_of_another);
  std::erase_if(options.concrete, is_of_another);
}

const Node* find_node(const Graph& graph, const std::string& name) {
  for (const NodeId id : graph.order()) {
    if (graph.node(id).name == name) return &graph.node(id);
  }
  return nullptr;
}

// Returns the nodes of `flat`, in which no module is a leaf, that the node of `graph` stands for.  Throws
// Error(kUsage) where they cannot be told apart.
std::vector<NodeId> nodes_for(const Node& node, const Graph& graph, const Graph& flat) {
  std::vector<NodeId> found;
  if (node.op == Opcode::kCallModule) {
    std::size_t calls = 0;
    for (const NodeId id : graph.order()) {
      const Node& other = graph.node(id);
      calls += other.op == node.op && other.target == node.target ? 1 : 0;
    }
    if (calls > 1)
      throw usage_error("the node " + node.name + " is one of " + std::to_string(calls) + " calls of " +
                            *node.target + ", which is no part by itself",
                        {"--module " + shell_word(*node.target) + " --call N converts one of them"});
    for (const NodeId id : flat.order()) {
      const Node& inner = flat.node(id);
      const std::string& path = inner.scope->module_path;
      if (inner.op == Opcode::kCallFunction && (path == *node.target || path.starts_with(*node.target + ".")))
        found.push_back(id);
    }
    return found;
  }
  const auto is_alike = [&](const Node& other) {
    return other.op == node.op && other.target == node.target && *other.scope == *node.scope;
  };
  std::size_t before = 0;  // the number of such nodes before it
  for (const NodeId id : graph.order()) {
    if (graph.node(id).id == node.id) break;
    before += is_alike(graph.node(id)) ? 1 : 0;
  }
  for (const NodeId id : flat.order()) {
    if (is_alike(flat.node(id)) && before-- == 0) return {id};
  }
  return found;
}

// Translates the names of nodes of a part, which are those of `fxtrace trace`, to names in the graph that is
// converted, in which no module is a leaf.
ExtractRequest part_in(const Graph& flat, const Graph& traced, const ExtractRequest& part) {
  ExtractRequest result = part;
  result.from.clear();
  result.to.clear();
  const auto translate = [&](const std::vector<std::string>& names, std::vector<std::string>& to, bool ends) {
    for (const std::string& name : names) {
      const Node* node = find_node(traced, name);
      const std::vector<NodeId> all =
          node == nullptr ? std::vector<NodeId>() : nodes_for(*node, traced, flat);
      if (all.empty()) to.push_back(name);  // a name of the flat graph, or none
      for (const NodeId id : all) {
        const bool leaves = std::ranges::any_of(
            flat.node(id).users, [&](NodeId user) { return std::ranges::find(all, user) == all.end(); });
        if (!ends || leaves) to.push_back(flat.node(id).name);
      }
    }
  };
  translate(part.from, result.from, false);
  translate(part.to, result.to, true);
  return result;
}

ProgramRecords lower_method(const ConvertArguments& arguments, const Config& config, const InputFile& input,
                            const TraceResult& traced, const ExtractRequest& part, Conversion& conversion,
                            Console& console) {
  LoweringOptions options = lowering_options(config.options, *traced.program, !arguments.has_part());
  options.hints = read_hints(arguments.hints);
  options.functional = arguments.is_functional();
  options.freeze_state = arguments.state == "freeze";
  options.dropped_outputs.insert(arguments.dropped_outputs.begin(), arguments.dropped_outputs.end());
  options.quantized = arguments.quantized == "decomposed";
  Lowered lowered = with_input(input, [&] {
    if (!arguments.has_part()) return lower(traced.collection, *traced.program, options);
    return lower(extract_part(traced.collection, part), *traced.program, options);
  });
  std::ranges::move(lowered.refusals, std::back_inserter(conversion.refusals));
  if (!lowered.refusals.empty()) return {};
  for (const std::string& note : lowered.notes) console.note(note);
  ProgramRecords records = records_of(lowered.program, arguments.example_inputs());
  std::ranges::move(refused_texts(records), std::back_inserter(conversion.refusals));
  return records;
}

// `plain` is the configuration with which `fxtrace trace` names nodes.
int convert(const ConvertArguments& arguments, Config config, Config plain,
            const std::vector<std::string>& methods, const InputFile& input, Output* output,
            Isolated& isolated, Console& console) {
  const FileInfo info = with_input(input, [&] { return identify_file(input.file()); });
  Conversion& conversion = isolated.keep_alive(Conversion());
  const Program* model = nullptr;
  if (info.kind == FileKind::kExportedProgram && !arguments.has_part() && !arguments.is_functional() &&
      !arguments.trace.any(is_no_choice)) {
    model = with_input(input, [&] {
      const auto& program =
          isolated.keep_alive(std::make_unique<ExportedProgram>(info, config.options.model));
      static_cast<void>(program->method_to_trace(methods.front()));
      copy(arguments, *program, input, info, conversion);
      return program.get();
    });
  } else {
    const TraceOptions given = config.options;
    TraceRequest wanted{.costs = false};
    if (arguments.methods.size() > 1 && info.kind == FileKind::kTorchScript)
      wanted.loaded =
          with_input(input, [&] { return load_program(input.file(), info, given, listener_of(console)); });
    for (const std::string& method : methods) {
      config.options = given;
      config.options.method = method;
      if (wanted.loaded) {
        with_input(input, [&] { keep_own_inputs(*wanted.loaded, arguments.methods, config.options); });
      }
      TraceResult& traced = trace_file(input, info, config, wanted, isolated, console);
      run_passes(config.passes, traced.collection, console);
      ExtractRequest part = arguments.part;
      if (!part.from.empty() || !part.to.empty()) {
        plain.options.method = method;
        const TraceResult& named =
            trace_file(input, info, plain, {.costs = false, .loaded = traced.program}, isolated, console);
        if (!named.collection.graphs.empty() && !traced.collection.graphs.empty())
          part = with_input(input, [&] {
            return part_in(traced.collection.graphs.front().graph, named.collection.graphs.front().graph,
                           part);
          });
      }
      conversion.programs.push_back(
          lower_method(arguments, config, input, traced, part, conversion, console));
      if (methods.size() > 1) conversion.programs.back().name = method;
      model = traced.program.get();
    }
  }
  std::optional<SafetensorsFile> weights;
  if (arguments.external_weights) {
    weights.emplace(conversion.programs);
    std::ranges::copy(weights->refusals(), std::back_inserter(conversion.refusals));
  }
  if (!conversion.refusals.empty()) {
    report_refusals(conversion.refusals, input, console);
    return kModuleFailed;
  }
  if (output == nullptr) return kDone;
  // The program is written last: nothing is committed without it.
  if (Output* beside = output->beside()) {
    beside->write(
        [&](std::ostream& out) { with_input(input, [&] { weights->write(*model, input.file(), out); }); });
  }
  output->write([&](std::ostream& out) {
    with_input(input, [&] {
      write_program_archive(conversion.programs, *model, input.file(), !arguments.is_without_weights(), out);
    });
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
               const ConvertArguments& arguments, Config& config, const Config& plain, const InputFile& input,
               Console& console) {
  Output output(file, input, console);
  output.allow_any_size();  // as large as the weights
  if (arguments.external_weights && !arguments.dry_run) {
    const std::string stem = file.substr(0, file.size() - kExtension.size());
    output.add_beside(std::make_unique<Output>(stem + ".safetensors", input, console));
  }
  try {
    return run_isolated(arguments.isolation, input, output, console, config.options, [&](Isolated& isolated) {
      return convert(arguments, config, plain, methods, input, arguments.dry_run ? nullptr : &output,
                     isolated, console);
    });
  } catch (const Error& error) {  // other methods are converted all the same
    console.error(error);
    return exit_code(error.kind());
  }
}

int run_convert(ConvertArguments& arguments, Console& console) {
  arguments.check();
  Config config = arguments.set_up(console);
  const Config plain = config;
  enter_everything(config.options);
  if (arguments.is_functional()) config.passes.emplace_back("functional");
  config.options.grad = arguments.grad == "on";
  if (arguments.methods.empty()) arguments.methods.push_back(config.options.method);
  const InputFile input(arguments.model, console, arguments.isolation.seconds());
  const std::string file = arguments.dry_run ? "-" : *arguments.output;
  const std::size_t place = file.find("%s");
  if (place == std::string::npos)
    return convert_to(file, arguments.methods, arguments, config, plain, input, console);
  int worst = kDone;
  for (const std::string& method : arguments.methods) {
    const std::string own = std::string(file).replace(place, 2, method);
    worst = std::max(worst, convert_to(own, {method}, arguments, config, plain, input, console));
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
