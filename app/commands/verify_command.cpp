// `fxtrace verify`: runs the model and its traced graph in LibTorch on the same inputs, and compares the
// results.
#include "app/commands/commands.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/exit_codes.h"
#include "app/options/answer.h"
#include "app/options/model.h"
#include "app/options/option_checks.h"
#include "app/options/passes.h"
#include "app/options/trace_options.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "exported/program/exported_program.h"
#include "verify/calls/functions.h"
#include "verify/inputs/given_inputs.h"
#include "verify/inputs/inputs.h"
#include "verify/report.h"
#include "writers/reports/summary_writers.h"

namespace fxtrace::internal::cli {
namespace {

struct VerifyArguments : ModelArguments {
  std::string model;
  std::optional<std::string> collection, against;
  std::vector<std::string> inputs;
  verify::VerifyOptions options;
  AnswerArguments answer{{{".txt"}, {".json", "--json", "write JSON (schemas/verification.schema.json)"}}};
};

constexpr std::size_t kMostProfileRows = 100;  // rows of a profile's table

// The input files besides the model.
struct Files {
  std::optional<InputFile> collection, against;
  std::vector<InputFile> inputs;
};

Error cannot_run(const InputFile& input, const std::string& what, std::vector<std::string> hints = {}) {
  return input.with_display(input_error(what, std::move(hints)));
}

// Returns the values to run on that were given, as files or as the sample inputs of an exported program.
verify::GivenInputs given_inputs(const verify::Engine& engine, const std::vector<InputFile>& files,
                                 const TraceOptions& options, const ModuleGraph& graph,
                                 const ExportedProgram* program) {
  verify::GivenInputs given;
  if (files.empty()) {
    if (program == nullptr || !options.inputs.empty()) return given;
    given.origin = verify::InputOrigin::kSample;
    given.values = sample_values(engine, *program);
    return given;
  }
  given.origin = verify::InputOrigin::kFile;
  verify::CallInputs inputs;
  for (const InputFile& file : files) {
    try {
      verify::CallInputs read = verify::read_inputs(engine, file.file());
      std::ranges::move(read.positional, std::back_inserter(inputs.positional));
      std::ranges::move(read.named, std::back_inserter(inputs.named));
    } catch (const verify::RunError& error) {
      throw file.with_display(input_error(error.what()));
    }
  }
  try {
    std::vector<std::string> fixed;
    for (const ConcreteArg& argument : options.concrete) fixed.push_back(argument.name);
    given.values = program == nullptr ? values_for_graph(inputs, graph, fixed)
                                      : values_for_program(engine, inputs, *program);
  } catch (const verify::RunError& error) {
    throw files.back().with_display(input_error(error.what()));
  }
  return given;
}

void write(const verify::Verification& verification, verify::Subject subject,
           const VerifyArguments& arguments, const GraphCollection& collection, const TextLayout& layout,
           Output& output) {
  std::optional<ModelSummary> measured;
  if (verification.profile) measured = measured_summary(collection, *verification.profile);
  subject.measured = measured ? &*measured : nullptr;
  output.write([&](std::ostream& out) {
    if (arguments.answer.format().is_json()) return write_json(verification, subject, out);
    write_text(verification, subject, out, layout);
    if (!measured) return;
    limit_rows(*measured, kMostProfileRows);
    fold_repeats(*measured);
    out << "\n";
    write_measured_table(*measured, out, layout);
  });
}

// The model of --against, to which the program is compared.
struct Other {
  FileInfo info;
  std::unique_ptr<const Program> program;
};

Other read_other(const InputFile& input, const TraceOptions& options, Isolated& isolated, Console& console) {
  isolated.reads(1);
  Other other;
  other.info = with_input(input, [&] { return identify_file(input.file()); });
  if (!is_traceable(other.info.kind)) throw input.with_display(not_traceable(other.info));
  TraceOptions own;
  own.op_schemas = options.op_schemas;
  own.registered = options.registered;
  other.program =
      with_input(input, [&] { return load_program(input.file(), other.info, own, listener_of(console)); });
  isolated.reads(0);
  return other;
}

// The options select a method of the TorchScript archive, but `forward` of the program that was made from it.
// The program is traced into all its modules.
void set_up_for_other(Config& config) {
  config.options.method = "forward";
  config.options.default_leaves = false;
}

int verify_model(const VerifyArguments& arguments, const Config& config, const InputFile& input,
                 const Files& files, const TextLayout& layout, Output& output, Isolated& isolated,
                 Console& console, const FxtraceEngine& api) {
  const FileInfo info = with_input(input, [&] { return identify_file(input.file()); });
  if (!is_traceable(info.kind)) throw input.with_display(not_traceable(info));
  with_input(input, [&] { info.zip->check_is_whole(); });
  Config traced = config;
  std::optional<GraphCollection> given;
  if (files.collection) {
    given = read_collection_file(*files.collection, console);
    read_config(given->options_json, files.collection->display(), traced);
    traced.passes.clear();
  }
  std::optional<Other> other;
  if (files.against) {
    if (info.kind != FileKind::kExportedProgram)
      throw input.with_display(
          input_error("--against expects a torch.export program (.pt2) as MODEL, got " + info.what));
    other = read_other(*files.against, config.options, isolated, console);
    set_up_for_other(traced);
  }
  TraceRequest wanted;
  wanted.input_options = info.kind == FileKind::kTorchScript;
  TraceResult& result = trace_file(input, info, traced, wanted, isolated, console);
  if ((given ? *given : result.collection).graphs.empty() || result.collection.graphs.empty())
    throw input.with_display(input_error("the model has no graph to run"));
  GraphCollection& collection = given ? *given : result.collection;
  if (!given) run_passes(traced.passes, collection, console);
  const auto finish = [&](const verify::Verification& verification) {
    if (input.file().has_changed() || (files.against && files.against->file().has_changed()))
      throw input.with_display(input_error(
          "the file changed meanwhile, so the graph and the model that ran may be of different files"));
    const std::string against = files.against ? files.against->base_name() : "";
    write(verification, {input.base_name(), arguments.options, against}, arguments, collection, layout,
          output);
    return strict_code(traced, collection, input, console,
                       verification.verdict() == verify::Verdict::kEqual ? kDone : kNegative);
  };
  console.note("running the code of the model");
  isolated.begins(Stage::kRunModel);

  const verify::Engine engine(api);
  verify::keep_callable_operators(engine);
  const verify::ModelSource source{engine, input.file(), info.root, collection, traced.options};
  const auto* program = as_exported(result.program.get());
  const verify::Load load = [&] {
    return program == nullptr ? verify::load_script_model(source)
                              : verify::load_program_model(source, *program);
  };
  verify::Load load_other;
  if (other) {
    verify::ModelSource of{engine, files.against->file(), other->info.root, collection, traced.options};
    of.method = config.options.method;
    for (const ParameterRecord& parameter : other->program->parameters()) {
      if (parameter.kind == ParameterKind::kBuffer && !parameter.alias_of) of.state.push_back(parameter.name);
    }
    const auto* exported = as_exported(other->program.get());
    load_other = [of, exported] {
      return exported == nullptr ? verify::load_script_model(of) : verify::load_program_model(of, *exported);
    };
  }
  // Without --inputs, random values are drawn: the sample inputs of a converted program are zeros, which show
  // hardly anything.
  const verify::GivenInputs inputs =
      other && files.inputs.empty()
          ? verify::GivenInputs()
          : given_inputs(engine, files.inputs, traced.options, collection.graphs.front(), program);
  try {
    return finish(
        verify_graph(engine, collection, traced.options, load, arguments.options, inputs, load_other));
  } catch (const verify::MissingInput& missing) {
    if (const auto known = verify::not_verified(collection)) return finish(*known);
    std::vector<std::string> hints;
    for (const std::string& option : result.input_options) hints.push_back("for example " + option);
    hints.emplace_back("--inputs FILE gives values that torch.save or numpy has written");
    throw cannot_run(input, missing.what(), std::move(hints));
  } catch (const verify::Refused& error) {
    throw cannot_run(input,
                     "the model cannot be run with " + verify::sizes_text(error.sizes) + ": " + error.what(),
                     {"--dim NAME=LO..HI draws other sizes"});
  } catch (const verify::CannotRun& error) {
    throw cannot_run(input, std::string("it cannot be run without Python: ") + error.what());
  } catch (const verify::RunError& error) {
    throw cannot_run(input, std::string("the model cannot be run: ") + error.what());
  }
}

int run_verify(const VerifyArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  static_cast<void>(arguments.answer.format());  // reports a wrong format before any work
  if (arguments.collection && arguments.trace.any(is_no_pass))
    throw usage_error("options of a trace do not apply with --collection, which says how it was traced");
  if (arguments.against && (arguments.collection || arguments.options.profiles))
    throw usage_error("--against cannot be combined with --collection or --profile");
  const std::uint64_t seconds = arguments.isolation.seconds();  // to wait for a named pipe
  const InputFile input(arguments.model, console, seconds);
  Files files;
  std::vector<const InputFile*> others;
  if (arguments.against) others.push_back(&files.against.emplace(*arguments.against, console, seconds));
  if (arguments.collection)
    others.push_back(&files.collection.emplace(*arguments.collection, console, seconds));
  for (const std::string& name : arguments.inputs) files.inputs.emplace_back(name, console, seconds);
  for (const InputFile& file : files.inputs) others.push_back(&file);
  Output output(arguments.answer.output(), input, console);
  const TextLayout layout = arguments.answer.layout(console);
  return run_isolated_with_engine(
      arguments.isolation, input, output, console, config.options,
      [&](Isolated& isolated, const FxtraceEngine& engine) {
        return verify_model(arguments, config, input, files, layout, output, isolated, console, engine);
      },
      others);
}

}  // namespace

Command make_verify_command(CLI::App& app) {
  auto arguments = std::make_shared<VerifyArguments>();
  app.description(
      app.get_description() +
      " Each value's shape and dtype is compared with the graph's, and guards are checked. MODEL is a model "
      "file as for fxtrace trace, which is traced with the same options. Its code runs in LibTorch, in a "
      "sandboxed process that can open no files and write only the answer. Exit code 1 when they differ.");
  app.footer(
      "  fxtrace verify model.pt2\n"
      "  fxtrace verify model.pt --input 'x=float32[batch,3,224,224]' --dim batch=1..8 --runs 3\n");
  app.add_option("MODEL", arguments->model, "the model file, or - for stdin")->required();
  const char* group = "Verification";
  verify::VerifyOptions& options = arguments->options;
  add_last_value(
      app, group, "--runs", options.runs, "N",
      "the number of runs; each draws the sizes of named dimensions from their ranges. Default 1; 2 for a "
      "graph that keeps state")
      ->check(integer_from(1));
  add_last_value(app, group, "--seed", options.seed, "N",
                 "the seed of random inputs, and of operators that draw random numbers. Default 0")
      ->check(integer_from(0));
  add_value(app, group, "--atol", options.absolute, "X", "tolerated absolute difference. Default 0")
      ->check(number_from_0());
  add_value(app, group, "--rtol", options.relative, "X",
            "tolerated difference relative to the model's value. Default 0: all bits must be equal")
      ->check(number_from_0());
  add_value(app, group, "--collection", arguments->collection, "FILE",
            "verify the graph in FILE, which fxtrace trace wrote for this model and other tools may have "
            "changed");
  add_last_value(app, group, "--against", arguments->against, "FILE",
                 "compare the program MODEL with the model in FILE that it was converted from, a "
                 "TorchScript archive or another program: both run, at least twice, on random inputs. "
                 "--method names the converted method");
  add_value(app, group, "--inputs", arguments->inputs, "FILE",
            "run on the values in FILE: an array of numpy (.npy), several by name (.npz), or what "
            "torch.save wrote, which is one value, a list or tuple in the order of the inputs, or a dict by "
            "name. Several files one after the other. Default: the sample inputs of an exported program in "
            "the first run, else random values");
  app.add_flag("--profile", options.profiles,
               "measure the time and memory of each module of the graph, and show them beside its costs")
      ->group(group);
  arguments->answer.add_to(app);
  arguments->add_to(app);
  return [arguments](Console& console) { return run_verify(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
