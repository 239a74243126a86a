// `fxtrace why`: explains why modules failed to trace, are leaves or were not visited, what is known of a
// dimension, or where a guard comes from, and tries options that help.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/commands/commands.h"
#include "app/exit_codes.h"
#include "app/options/answer.h"
#include "app/options/trace_options.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "fxtrace/saved_collection.h"
#include "graph/analysis/collection_summary.h"
#include "summaries/explanation.h"
#include "trace/options/input_spec.h"
#include "trace/search/suggestions.h"
#include "writers/reports/explanation_writers.h"

namespace fxtrace::internal::cli {
namespace {

constexpr AnswerRow<Explanation> kWhyFormats[] = {
    {{".txt"}, write_explanation_text},
    {{".json", "--json", "write JSON (schemas/why.schema.json)"}, write_plain<write_explanation_json>}};

struct WhyArguments : ModelArguments {
  std::string model;
  std::optional<std::string> path;
  std::optional<std::string> dimension;
  std::optional<std::string> guard;
  AnswerFormats<Explanation> answer{kWhyFormats};
};

// Returns the range that options give the dimension; for a saved collection, its own options.
Range given_range(const std::string& name, const Config& config, const TraceResult& result) {
  const bool is_saved = result.program == nullptr;
  return make_dimensions(is_saved ? saved_options(result.collection).options : config.options).range(name);
}

void explain_modules(const WhyArguments& arguments, const TraceResult& result, bool folds,
                     Explanation& explanation) {
  const GraphCollection& collection = result.collection;
  explanation.asked_module = *arguments.path;
  std::optional<std::string> asked;
  explanation.explained =
      internal::explain_modules(collection, find_modules(collection, *arguments.path, asked));
  if (explanation.explained.size() == 1) explanation.explained.front().asked = asked;
  if (result.program != nullptr) explain_calls(*result.program, collection, explanation.explained);
  for (ModuleExplanation& module : explanation.explained) {
    const auto& file = arguments.trace.config_file();
    if (module.rule && file && *module.rule != "default" && !module.rule->starts_with("--") &&
        !arguments.trace.has("--leaf", *module.rule)) {
      module.origin = *file;
    }
  }
  if (folds) fold_alike(explanation.explained);
}

int why(const WhyArguments& arguments, const Config& config, const TextLayout& layout, const InputFile& input,
        Output& output, Isolated& isolated, Console& console) {
  const TraceResult& result = trace_or_read(config, arguments.trace.any(), input, isolated, console);
  const GraphCollection& collection = result.collection;
  const auto& [format, write] = arguments.answer.row();
  Explanation explanation;
  explanation.model = collection.model;
  explanation.is_saved = result.program == nullptr;
  explanation.modules = std::ranges::count_if(
      collection.modules, [](const ModuleRecord& module) { return !module.alias_of.has_value(); });
  explanation.failed = static_cast<std::int64_t>(count_failed(collection));
  explanation.failures = fold_failures(collection);
  if (arguments.guard) {
    explanation.guards = find_guards(collection, *arguments.guard);
  } else if (arguments.path) {
    explain_modules(arguments, result, format.is_for_people(), explanation);
  } else if (arguments.dimension) {
    const std::string& name = *arguments.dimension;
    explanation.dimension = explain_dimension(collection, name, given_range(name, config, result));
    if (result.program != nullptr)
      try_ranges({*result.program, config.options, collection, result.spent}, *explanation.dimension);
  }
  const bool asks_of_failed =
      arguments.path
          ? std::ranges::any_of(explanation.explained,
                                [](const auto& module) { return module.cause == ModuleCause::kFailed; })
          : !arguments.dimension && !arguments.guard && explanation.failed > 0;
  if (asks_of_failed && result.program != nullptr)
    explanation.suggestions = find_suggestions({*result.program, config.options, collection, result.spent});
  output.write([&](std::ostream& out) { write(explanation, out, layout); });
  return strict_code(config, collection, input, console, kDone);
}

int run_why(WhyArguments& arguments, Console& console) {
  arguments.verbose.set_up_log(console);
  const std::vector<std::string> names = arguments.trace.take_names("--dim");
  if (names.size() > 1) throw usage_error("--dim asks about one dimension at a time");
  if (!names.empty()) arguments.dimension = names.front();
  if (arguments.dimension.has_value() + arguments.path.has_value() + arguments.guard.has_value() > 1)
    throw usage_error(
        "PATH asks about modules, --dim NAME about a dimension, --guard about a guard: give one of them");
  return run_answer(arguments, arguments.trace.resolve(console), console, why);
}

}  // namespace

Command make_why_command(CLI::App& app) {
  auto arguments = std::make_shared<WhyArguments>();
  app.description(
      app.get_description() +
      " With PATH, explain why modules are traced, leaves, failed or not visited; with --dim NAME, what is "
      "known about a dimension and why; with --guard, where a guard comes from and which line needs it. "
      "MODEL is a model file as for fxtrace trace, or the JSON that fxtrace trace wrote, for which no "
      "options can be tried.");
  app.footer(
      "  fxtrace why model.pt\n"
      "  fxtrace why model.pt encoder.layers.3\n"
      "  fxtrace why model.pt2 --dim s77\n"
      "  fxtrace why model.pt --input 'x=float32[batch,8]' --guard 'x.size(1) == 8'\n");
  app.add_option("MODEL", arguments->model, "the model file or a collection's JSON file, or - for stdin")
      ->required();
  app.add_option(
      "PATH", arguments->path,
      "a module's path, or a glob over paths: * matches within one dotted part, ** across parts; '' is "
      "the root");
  app.add_option("--guard", arguments->guard,
                 "a guard: its number among those of all graphs, from 1, or its expression")
      ->type_name("N|EXPR");
  arguments->answer.add_to(app);
  arguments->add_to(app);
  CLI::Option* dim = app.get_option("--dim");
  dim->type_name("NAME[=LO..HI]");
  dim->description("explain the dimension NAME. NAME=LO..HI: " + dim->get_description());
  return [arguments](Console& console) { return run_why(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
