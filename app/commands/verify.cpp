#include "app/commands/verify.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/checks.h"
#include "app/isolation.h"
#include "app/model.h"
#include "app/output.h"
#include "app/passes.h"
#include "app/trace_options.h"
#include "app/verbose.h"
#include "exported/exported_program.h"
#include "verify/inputs.h"
#include "verify/report.h"

namespace fxtrace::cli {
namespace {

struct Arguments {
  TraceArguments trace;
  std::string model;
  std::optional<std::string> collection;
  verify::VerifyOptions options;
  bool json = false;
  std::string output = "-";
  IsolationArguments isolation;
  VerboseArgument verbose;
};

constexpr int kNotEqual = 1;

Error cannot_run(const InputFile& input, const std::string& what, std::vector<std::string> hints = {}) {
  return input.with_display(input_error(what, std::move(hints)));
}

int verify_model(const Arguments& arguments, const Config& config, const InputFile& input,
                 const std::optional<InputFile>& saved, Output& output, Isolated& isolated, Console& console,
                 const FxtraceEngine& api) {
  const FileInfo info = with_input(input, [&] { return identify_file(input.file()); });
  if (!is_traceable(info.kind)) throw input.with_display(not_traceable(info));
  Config traced = config;
  std::optional<GraphCollection> given;
  if (saved) {
    given = read_collection_file(*saved, console);
    read_config(given->options_json, saved->display(), traced);
    traced.passes.clear();
  }
  Wanted wanted;
  wanted.input_options = info.kind == FileKind::kTorchScript;
  TraceResult& result = trace_file(input, info, traced, wanted, isolated, console);
  if ((given ? *given : result.collection).graphs.empty() || result.collection.graphs.empty())
    throw input.with_display(input_error("there is no graph to run"));
  GraphCollection& collection = given ? *given : result.collection;
  const ModuleGraph traced_graph = result.collection.graphs.front();  // without passes
  if (!given) run_passes(traced.passes, collection, console);
  console.note("the model runs now, as its file says it");
  isolated.begins(Stage::kRunModel);

  const verify::Engine engine(api);
  const verify::ModelSource source{engine, input.file(), info.root, collection, traced.options};
  const auto* program = dynamic_cast<const ExportedProgram*>(result.program.get());
  const verify::Load load = [&] {
    return program == nullptr ? verify::load_script_model(source)
                              : verify::load_program_model(source, *program, traced_graph);
  };
  try {
    const verify::Verification verification =
        verify_graph(engine, collection.graphs.front(), traced.options, load, arguments.options);
    const verify::Subject subject{input.base_name(), arguments.options};
    output.write([&](std::ostream& out) {
      if (arguments.json) return write_json(verification, subject, out);
      write_text(verification, subject, out);
    });
    return verification.fault ? kNotEqual : kDone;
  } catch (const verify::MissingInput& missing) {
    std::vector<std::string> hints;
    for (const std::string& option : result.input_options) hints.push_back("for example " + option);
    throw cannot_run(input, missing.what(), std::move(hints));
  } catch (const verify::CannotRun& error) {
    throw cannot_run(input, std::string("it cannot be run without Python: ") + error.what());
  } catch (const verify::RunError& error) {
    throw cannot_run(input, std::string("the model cannot be run: ") + error.what());
  }
}

int run(const Arguments& arguments, Console& console) {
  arguments.verbose.set_up_log(console);
  Config config = arguments.trace.resolve();
  if (arguments.collection && arguments.trace.any_but_passes())
    throw usage_error("options of a trace do not apply with --collection, which says how it was traced");
  const InputFile input(arguments.model, console.in());
  std::optional<InputFile> saved;
  if (arguments.collection) saved.emplace(*arguments.collection, console.in());
  Output output(arguments.output, input, console);
  return run_isolated_with_engine(arguments.isolation, input, output, console, config.options,
                                  saved ? std::vector<int>{saved->file().descriptor()} : std::vector<int>(),
                                  [&](Isolated& isolated, const FxtraceEngine& engine) {
                                    return verify_model(arguments, config, input, saved, output, isolated,
                                                        console, engine);
                                  });
}

}  // namespace

Command make_verify_command(CLI::App& parent) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* app = parent.add_subcommand(
      "verify",
      "Run the model, and the graph that was traced of it, on the same inputs, and say whether they give the same, bit "
      "for bit; if not, at which node that begins. Every value's shape and dtype is held against what the graph says "
      "of it, and so are guards. MODEL is a model as of fxtrace trace, which is traced with the same options. Its code "
      "runs, in LibTorch, in a process that can open nothing and write nothing but the answer. Exit code 1 when they "
      "differ.");
  app->footer(
      "  fxtrace verify model.pt2\n"
      "  fxtrace verify model.pt --input 'x=float32[batch,3,224,224]' --dim batch=1..8 --runs 3\n");
  app->add_option("MODEL", arguments->model, "the model file, or - for stdin")->required();
  const char* group = "Verification";
  const CLI::Validator not_negative = CLI::Validator(CLI::NonNegativeNumber).description("");
  app->add_option("--runs", arguments->options.runs,
                  "how often, each time with sizes of named dimensions drawn from their ranges. Default 1")
      ->type_name("N")
      ->group(group)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->check(integer_from(1));
  app->add_option("--seed", arguments->options.seed,
                  "of inputs, and of operators that draw random numbers. Default 0")
      ->type_name("N")
      ->group(group)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->check(integer_from(0));
  app->add_option("--atol", arguments->options.absolute,
                  "absolute difference that is no difference. Default 0")
      ->type_name("X")
      ->group(group)
      ->check(not_negative);
  app->add_option("--rtol", arguments->options.relative,
                  "likewise, relative to the model's value. Default 0: all bits are the same")
      ->type_name("X")
      ->group(group)
      ->check(not_negative);
  app->add_option(
         "--collection", arguments->collection,
         "the graph of FILE, which fxtrace trace wrote for this model and other tools may have changed")
      ->type_name("FILE")
      ->group(group);
  const char* output_group = "Output";
  app->add_option("-o,--output", arguments->output, "write to FILE instead of stdout")
      ->type_name("FILE")
      ->group(output_group)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app->add_flag("--json", arguments->json, "write JSON (schemas/verification.schema.json)")
      ->group(output_group);
  arguments->trace.add_to(*app);
  arguments->isolation.add_to(*app);
  arguments->verbose.add_to(*app);
  return {app, [arguments](Console& console) { return run(*arguments, console); }};
}

}  // namespace fxtrace::cli
