#include "app/commands/trace.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/formats.h"
#include "app/isolation.h"
#include "app/output.h"
#include "app/trace_and_write.h"
#include "app/trace_options.h"
#include "app/verbose.h"

namespace fxtrace::cli {
namespace {

struct Arguments {
  TraceArguments trace;
  std::string model;
  FormatArguments format;
  IsolationArguments isolation;
  VerboseArgument verbose;
};

int run(const Arguments& arguments, Console& console) {
  arguments.verbose.set_up_log(console);
  Config config = arguments.trace.resolve();
  arguments.format.format();  // what is wrong with it is said first
  const InputFile input(arguments.model, console.in());
  Output output(arguments.format.output(), input, console);
  arguments.format.connect(output, arguments.isolation);
  return run_isolated(arguments.isolation, input, output, console, config.options, [&](Isolated& isolated) {
    const FileInfo info = with_input(input, [&] { return identify_file(input.file()); });
    return trace_and_write(input, info, config, arguments.format, output, isolated, console);
  });
}

}  // namespace

Command make_trace_command(CLI::App& parent) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* app = parent.add_subcommand("trace",
                                        "Trace a model into torch.fx graphs. MODEL is an exported program "
                                        "(torch.export.save) or a TorchScript archive (torch.jit.save); its "
                                        "weights are not read and its code does not run. A module that "
                                        "cannot be traced becomes a leaf, and its submodules get graphs of "
                                        "their own.");
  app->footer(
      "  fxtrace trace model.pt2 --leaf torch.nn.Linear -o model.json\n"
      "  fxtrace trace model.pt --leaf '@encoder.layers.*' -o model.svg\n");
  app->add_option("MODEL", arguments->model, "the model file, or - for stdin")->required();

  arguments->trace.add_to(*app);

  arguments->format.add_to(*app);
  arguments->isolation.add_to(*app);
  arguments->verbose.add_to(*app);
  arguments->verbose.add_timings_to(*app);
  return {app, [arguments](Console& console) { return run(*arguments, console); }};
}

}  // namespace fxtrace::cli
