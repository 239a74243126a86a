#include "app/commands/render.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/files.h"
#include "app/formats.h"
#include "app/isolation.h"
#include "app/model.h"
#include "app/output.h"
#include "app/passes.h"
#include "app/trace_options.h"
#include "app/verbose.h"
#include "support/log.h"
#include "support/timer.h"

namespace fxtrace::cli {
namespace {

struct Arguments {
  std::string collection;
  TraceArguments trace;  // --pass of these
  FormatArguments format{"render COLLECTION"};
  IsolationArguments isolation;
  VerboseArgument verbose;
};

int run(const Arguments& arguments, Console& console) {
  arguments.verbose.set_up_log(console);
  arguments.format.format();  // what is wrong with it is said first
  const std::vector<std::string> passes = arguments.trace.resolve().passes;
  const InputFile input(arguments.collection, console.in());
  Output output(arguments.format.output(), input, console);
  return run_isolated(arguments.isolation, input, output, console, [&](Isolated& isolated) {
    isolated.all_is_open();
    GraphCollection collection = read_collection_file(input, console);
    run_passes(passes, collection, console);
    add_to_options(passes, collection);
    const Timer timer;
    output.write([&](std::ostream& out) { arguments.format.write(collection, out); });
    log::info("wrote it in " + timer.milliseconds());
    return kDone;
  });
}

}  // namespace

Command make_render_command(CLI::App& parent) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* app = parent.add_subcommand(
      "render",
      "Write a graph collection in another format, or after graph passes. COLLECTION is the JSON that fxtrace trace wrote; the model is "
      "not needed any more, and nothing is lost: as JSON the collection is written as it was.");
  app->footer(
      "  fxtrace render model.json -f dot | dot -Tsvg -o model.svg\n"
      "  fxtrace render model.json --pass functional -o functional.json\n");
  app->add_option("COLLECTION", arguments->collection, "the collection's JSON file, or - for stdin")
      ->required();
  arguments->trace.add_passes_to(*app);
  arguments->format.add_to(*app);
  arguments->isolation.add_to(*app);
  arguments->verbose.add_to(*app);
  return {app, [arguments](Console& console) { return run(*arguments, console); }};
}

}  // namespace fxtrace::cli
