// `fxtrace why`: explains why modules failed to trace, are leaves or were not visited, what is known of a
// dimension, or where a guard comes from, and tries options that help.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/commands/commands.h"
#include "app/options/trace_options.h"
#include "app/output/formats.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "pipelines/answers/questions.h"
#include "pipelines/read_model.h"
#include "writers/reports/report_writers.h"

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

int why(const WhyArguments& arguments, const Config& config, const TextLayout& layout, const NamedFile& file,
        Output& output, Isolated& isolated) {
  const auto& [format, write] = arguments.answer.row();
  const auto origin_of = [&](const std::string& rule) -> std::optional<std::string> {
    const bool is_of_file =
        rule != "default" && !rule.starts_with("--") && !arguments.trace.has("--leaf", rule);
    return is_of_file ? arguments.trace.config_file() : std::nullopt;
  };
  const Explanation explanation = explain_model(config,
                                                {.path = arguments.path,
                                                 .dimension = arguments.dimension,
                                                 .guard = arguments.guard,
                                                 .folds = format.is_for_people(),
                                                 .has_trace_options = arguments.trace.any(),
                                                 .origin_of = origin_of},
                                                file, isolated);
  output.write([&](std::ostream& out) { write(explanation, out, layout); });
  return kDone;
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
