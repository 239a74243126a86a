// `fxtrace verify`: runs the model and its traced graph in LibTorch on the same inputs, and compares the
// results.
#include "app/commands/commands.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/options/option_checks.h"
#include "app/options/trace_options.h"
#include "app/output/formats.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "pipelines/answers/model_verification.h"
#include "verify/report.h"
#include "writers/reports/report_writers.h"

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

void write(VerifiedModel& verified, verify::Subject subject, const AnswerFormat& format,
           const TextLayout& layout, std::ostream& out) {
  auto& [verification, measured] = verified;
  subject.measured = measured ? &*measured : nullptr;
  if (format.is_json()) return write_json(verification, subject, out);
  write_text(verification, subject, out, layout);
  if (!measured) return;
  limit_rows(*measured, kMostProfileRows);
  fold_repeats(*measured);
  out << "\n";
  write_measured_table(*measured, out, layout);
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
  VerificationRequest request;
  request.options = arguments.options;
  std::deque<InputFile> opened;
  std::vector<const InputFile*> others;
  const auto open = [&](const std::string& name) {
    others.push_back(&opened.emplace_back(name, console, seconds));
    return opened.back().file();
  };
  if (arguments.against) request.against = open(*arguments.against);
  if (arguments.collection) request.collection = open(*arguments.collection);
  for (const std::string& name : arguments.inputs) request.inputs.push_back(open(name));
  Output output(arguments.answer.output(), input, console);
  const TextLayout layout = arguments.answer.layout(console);
  return run_isolated_with_engine(
      arguments.isolation, input, output, console, config.options,
      [&](Isolated& isolated, const FxtraceEngine& engine) {
        VerifiedModel& verified = isolated.keep_alive(verify_model(config, request, input, engine, isolated));
        const std::string against = request.against ? request.against->base_name() : "";
        output.write([&](std::ostream& out) {
          write(verified, {input.base_name(), arguments.options, against}, arguments.answer.format(), layout,
                out);
        });
        return verified.verification.verdict() == verify::Verdict::kEqual ? kDone : kNegative;
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
