// `fxtrace extract`: writes a part of a model, a call of a module or the nodes between some nodes, as a
// collection.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/commands/commands.h"
#include "app/options/option_checks.h"
#include "app/options/trace_options.h"
#include "app/output/files.h"
#include "app/output/formats.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "graph/lint.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "support/text/did_you_mean.h"

namespace fxtrace::internal::cli {
namespace {

struct ExtractArguments : ModelArguments {
  std::string model;
  std::optional<std::string> path;  // the module, as an argument instead of --module
  ExtractRequest part;
  FormatArguments answer;

  void check() {  // throws Error(kUsage)
    if (path && part.module)
      throw usage_error("two modules are given: " + shell_word(*path) + " and --module " +
                        shell_word(*part.module));
    if (path) part.module = path;
    const bool has_nodes = !part.from.empty() || !part.to.empty();
    check_request(part);
    if (!part.module && !has_nodes) {
      throw usage_error("missing the part: give the PATH of a module, or --from NODE and --to NODE",
                        {"fxtrace order FILE lists modules, and fxtrace render FILE -f text nodes"});
    }
    if (part.call && !part.module) throw usage_error("--call needs a module: PATH --call N");
  }
};

// A saved collection keeps its model, as in fxtrace render.
GraphCollection& read(const ExtractArguments& arguments, const Config& config, const NamedFile& file,
                      Isolated& isolated) {
  const FileInfo info = identify_file(file.file);
  const bool is_model = is_traceable(info.kind);
  GraphCollection& collection = is_model
                                    ? trace_file(file, info, config, {}, isolated).collection
                                    : isolated.keep_alive(read_saved_collection(
                                          arguments.trace.any(is_no_pass), file.file, isolated.listener()));
  run_passes(config.passes, collection, isolated.listener());
  if (!is_model) add_to_options(config.passes, collection);
  return collection;
}

int extract_and_write(const ExtractArguments& arguments, const Config& config, const TextLayout&,
                      const NamedFile& file, Output& output, Isolated& isolated) {
  const GraphCollection& collection = read(arguments, config, file, isolated);
  const GraphCollection& extracted =
      isolated.keep_alive(at_file(file.file, [&] { return extract_part(collection, arguments.part); }));
#ifndef NDEBUG
  lint(extracted);
#endif
  output.write([&](std::ostream& out) { arguments.answer.write(extracted, out, isolated.listener()); });
  check_strict(config, extracted, file.file, isolated);
  return kDone;
}

int run_extract(ExtractArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  arguments.check();  // reports wrong options before any work
  arguments.answer.check_terminal(console, false);
  arguments.answer.read_overlay(console);
  return run_answer(arguments, std::move(config), console, extract_and_write);
}

}  // namespace

Command make_extract_command(CLI::App& app) {
  auto arguments = std::make_shared<ExtractArguments>();
  app.description(
      app.get_description() +
      " Values that enter the part become its inputs, values that are used outside become its output; "
      "nodes, modules and parameters keep their names. On the same input values, the part computes what the "
      "model computes; a part that cannot is refused. FILE is a model file as for fxtrace trace, or the "
      "JSON that fxtrace trace wrote.");
  app.footer(
      "  fxtrace extract model.pt2 encoder.layers.0 -o layer.json\n"
      "  fxtrace extract model.json --from conv1 --to relu_3 -o part.svg\n");
  app.add_option("FILE", arguments->model, "the model file or a collection's JSON file, or - for stdin")
      ->required();
  app.add_option("PATH", arguments->path,
                 "the module to extract, as with --module; the end of its path is enough if it is unique");
  const char* group = "Part";
  ExtractRequest& part = arguments->part;
  add_last_value(app, group, "--module", part.module, "PATH",
                 "the module PATH: its own graph if it has one, else a call of it");
  add_last_value(app, group, "--call", part.call, "N",
                 "the number of the module's call in the graph, from 1. Default: the module's own graph, "
                 "else 1")
      ->check(integer_from(1));
  add_value(app, group, "--from", part.from, "NODE",
            "a node that the part begins with, by name; repeatable. Default: all that --to needs")
      ->allow_extra_args(false);
  add_value(app, group, "--to", part.to, "NODE",
            "a node that the part ends with; repeatable. Default: the graph's output")
      ->allow_extra_args(false);
  add_last_value(
      app, group, "--graph", part.graph, "PATH",
      "the graph of the module PATH, where modules that failed have given several. Default: the root's");
  arguments->answer.add_to(app);
  arguments->add_to(app);
  return [arguments](Console& console) { return run_extract(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
