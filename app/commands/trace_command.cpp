// `fxtrace trace` and `fxtrace render`: trace a model, or (render) read a saved collection, run passes, and
// write it in one of the formats of app/output/formats.h.
#include "app/commands/commands.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/options/trace_options.h"
#include "app/output/files.h"
#include "app/output/formats.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "graph/analysis/collection_summary.h"
#include "graph/analysis/text_form.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "support/log.h"

namespace fxtrace::internal::cli {
namespace {

struct TraceCommandArguments : ModelArguments {
  CostArguments costs;  // only for render
  std::string model;
  FormatArguments answer;
  bool is_render = false;  // the file may be a collection
};

// Returns, for -v, the number of nodes without a known shape, and the operators where that began.
std::optional<std::string> unknown_shapes(const GraphCollection& collection) {
  const auto is_unknown = [](const Node& node) {
    return node.meta->kind() == ValueKind::kTensor && !node.meta->shape;
  };
  std::size_t nodes = 0;
  std::size_t unknown = 0;
  std::map<std::string, std::size_t> origins;
  for (const auto& result : collection.graphs) {
    const Graph& graph = result.graph;
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      ++nodes;
      if (!is_unknown(node)) continue;
      ++unknown;
      bool begins_here = true;
      for_each_input(node, [&](NodeId used) { begins_here = begins_here && !is_unknown(graph.node(used)); });
      if (begins_here) ++origins[node.op == Opcode::kCallModule ? "module " + *node.target : *node.target];
    }
  }
  if (unknown == 0) return std::nullopt;
  constexpr std::size_t kShown = 10;
  std::string text =
      std::to_string(unknown) + " of " + std::to_string(nodes) + " nodes have no known shape; first at";
  std::size_t shown = 0;
  for (const auto& [target, count] : origins) {
    if (++shown > kShown) {
      text += ", ...";
      break;
    }
    text += (shown == 1 ? " " : ", ") + target + (count > 1 ? " (" + std::to_string(count) + " times)" : "");
  }
  return text;
}

// Returns the first failures, the root first: "layers.3: an `if` depends on an input: flag (net.py:12: if
// flag:)".
std::vector<std::string> first_failures(const GraphCollection& collection) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> lines;
  for (const ModuleRecord& module : collection.modules) {
    if (module.status != ModuleStatus::kFailed || module.alias_of || !module.failure) continue;
    if (lines.size() == kShown) break;
    std::string line = (module.path.empty() ? "the root" : module.path) + ": " + module.failure->message;
    if (const auto& source = module.failure->source) line += " (" + place_text(*source) + ")";
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string hint_text(const Hint& hint) {
  std::string text = "with";
  for (const std::string& option : hint.options) text += " " + option;
  if (hint.failed == 0) return text + " no module fails";
  return text + " only " + std::to_string(hint.failed) +
         (hint.failed == 1 ? " module fails" : " modules fail");
}

// Traces the model, runs the passes of the configuration and writes the collection; reports failures on the
// console.
int trace_and_write(const NamedFile& file, const FileInfo& info, const Config& config,
                    const TraceCommandArguments& arguments, Output& output, Isolated& isolated) {
  const Listener& listener = isolated.listener();
  const FormatArguments& format = arguments.answer;
  if (!is_traceable(info.kind)) throw not_traceable(info).at(file.file.path());
  TraceRequest wanted;
  wanted.hint = true;
  TraceResult& result = trace_file(file, info, config, wanted, isolated);
  GraphCollection& collection = result.collection;

  if (!config.options.inputs.empty() || config.options.param_shapes_constant) {
    if (const auto unknown = unknown_shapes(collection)) log::info(*unknown);
  }

  const Timer pass_time;
  run_passes(config.passes, collection, listener);
  const std::string pass_text = pass_time.milliseconds();
  apply_costs(config, arguments.costs.at, collection, listener);
  const Timer write_time;
  output.write([&](std::ostream& out) { format.write(collection, out, listener); });
  log::timings("load " + result.load_time + ", trace " + result.trace_time + ", passes " + pass_text +
               ", write " + write_time.milliseconds());
  const std::size_t failed = count_failed(collection);
  if (config.strict) {
    if (!strict_failure(config.passes, collection)) return kDone;
    check_strict(config, collection, file.file, isolated);
  } else {
    const auto summary = strict_failure({}, collection);
    if (!summary) return kDone;
    listener.status(
        *summary + (failed == 1 ? " and became a leaf" : " and became leaves") +
        (format.format().is_picture ? " (-f json tells why)" : " (see \"failure\" in the output)"));
  }
  for (const std::string& line : first_failures(collection)) listener.note(line);
  if (result.hint) listener.hint(hint_text(*result.hint));
  return kDone;
}

int render_collection(const TraceCommandArguments& arguments, const Config& config, const NamedFile& file,
                      Output& output, Isolated& isolated) {
  GraphCollection& collection = isolated.keep_alive(
      read_saved_collection(arguments.trace.any(is_no_pass), file.file, isolated.listener()));
  run_passes(config.passes, collection, isolated.listener());
  add_to_options(config.passes, collection);
  apply_costs(config, arguments.costs.at, collection, isolated.listener());
  const Timer timer;
  output.write([&](std::ostream& out) { arguments.answer.write(collection, out, isolated.listener()); });
  log::info("wrote it in " + timer.milliseconds());
  return kDone;
}

int trace_or_render(const TraceCommandArguments& arguments, const Config& config, const TextLayout&,
                    const NamedFile& file, Output& output, Isolated& isolated) {
  const FileInfo info = identify_file(file.file);
  if (arguments.is_render && !is_traceable(info.kind))
    return render_collection(arguments, config, file, output, isolated);
  return trace_and_write(file, info, config, arguments, output, isolated);
}

int run_trace(TraceCommandArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  arguments.answer.check_terminal(console, arguments.is_render);
  config.options.beyond_ranges = arguments.answer.format().is_picture;
  arguments.answer.read_overlay(console);
  return run_answer(arguments, std::move(config), console, trace_or_render);
}

}  // namespace

Command make_trace_command(CLI::App& app) {
  auto arguments = std::make_shared<TraceCommandArguments>();
  app.description(
      app.get_description() +
      " MODEL is an exported program (torch.export.save) or a TorchScript archive (torch.jit.save); its "
      "weights are not read and its code does not run. A module that cannot be traced becomes a leaf, and "
      "its submodules get graphs of their own.");
  app.footer(
      "  fxtrace trace model.pt2 --leaf torch.nn.Linear -o model.json\n"
      "  fxtrace trace model.pt --leaf '@encoder.layers.*' -o model.svg\n");
  app.add_option("MODEL", arguments->model, "the model file, or - for stdin")->required();
  arguments->trace.add_to(app);
  arguments->answer.add_to(app);
  arguments->isolation.add_to(app);
  arguments->verbose.add_to(app);
  arguments->verbose.add_timings_to(app);
  return [arguments](Console& console) { return run_trace(*arguments, console); };
}

Command make_render_command(CLI::App& app) {
  auto arguments = std::make_shared<TraceCommandArguments>();
  arguments->is_render = true;
  app.description(
      app.get_description() +
      " FILE is a model file as for fxtrace trace, or the JSON that fxtrace trace wrote: for JSON the model "
      "is not needed, and JSON output is the collection as it was. A picture shows consecutive equal blocks "
      "as one, leaves out sizes, asserts and constants, and closes boxes until it fits a page.");
  app.footer(
      "  fxtrace render model.pt2 -o model.svg\n"
      "  fxtrace render model.json --focus encoder.layers.0 -o layer.png\n"
      "  fxtrace render model.json --pass functional -o functional.json\n");
  app.add_option("FILE", arguments->model, "the model file or a collection's JSON file, or - for stdin")
      ->required();
  arguments->costs.add_to(app, "Pictures");
  arguments->answer.add_to(app);
  arguments->add_to(app);
  return [arguments](Console& console) { return run_trace(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
