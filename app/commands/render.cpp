#include "app/commands/render.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/files.h"
#include "app/formats.h"
#include "app/isolation.h"
#include "app/model.h"
#include "app/output.h"
#include "app/passes.h"
#include "app/trace_and_write.h"
#include "app/trace_options.h"
#include "app/verbose.h"
#include "support/log.h"
#include "support/timer.h"

namespace fxtrace::cli {
namespace {

struct Arguments {
  TraceArguments trace;
  std::string file;
  FormatArguments format;
  IsolationArguments isolation;
  VerboseArgument verbose;
};

int render_collection(const Arguments& arguments, const Config& config, const InputFile& input,
                      Output& output, Isolated& isolated, Console& console) {
  if (arguments.trace.any_but_passes()) {
    throw usage_error("options of a trace do not apply to " + input.display() + ", which is traced already");
  }
  GraphCollection& collection = isolated.keep(read_collection_file(input, console));
  run_passes(config.passes, collection, console);
  add_to_options(config.passes, collection);
  const Timer timer;
  output.write([&](std::ostream& out) { arguments.format.write(collection, out); });
  log::info("wrote it in " + timer.milliseconds());
  return kDone;
}

int run(const Arguments& arguments, Console& console) {
  arguments.verbose.set_up_log(console);
  Config config = arguments.trace.resolve();
  arguments.format.format();  // what is wrong with it is said first
  const InputFile input(arguments.file, console.in());
  Output output(arguments.format.output(), input, console);
  arguments.format.connect(output, arguments.isolation);
  return run_isolated(arguments.isolation, input, output, console, [&](Isolated& isolated) {
    open_libraries(config.options, listener_of(console), isolated);
    const FileInfo info = with_input(input, [&] { return identify_file(input.file()); });
    if (is_traceable(info.kind)) {
      return trace_and_write(input, info, config, arguments.format, output, isolated, console);
    }
    return render_collection(arguments, config, input, output, isolated, console);
  });
}

}  // namespace

Command make_render_command(CLI::App& parent) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* app = parent.add_subcommand(
      "render",
      "Draw a model, or write a graph collection in another format or after graph passes. FILE is a model as of fxtrace "
      "trace, or the JSON that fxtrace trace wrote: then the model is not needed any more, and nothing is lost: as JSON "
      "the collection is written as it was. A picture shows equal blocks in a row as one, leaves out sizes, asserts and "
      "constants, and closes boxes until it fits a page.");
  app->footer(
      "  fxtrace render model.pt2 -o model.svg\n"
      "  fxtrace render model.json --focus encoder.layers.0 -o layer.png\n"
      "  fxtrace render model.json --pass functional -o functional.json\n");
  app->add_option("FILE", arguments->file, "the model file or a collection's JSON file, or - for stdin")
      ->required();
  arguments->format.add_to(*app);
  arguments->trace.add_to(*app);
  arguments->isolation.add_to(*app);
  arguments->verbose.add_to(*app);
  return {app, [arguments](Console& console) { return run(*arguments, console); }};
}

}  // namespace fxtrace::cli
