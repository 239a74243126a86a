// `fxtrace diff`: reports the differences between two models, as text, JSON, Markdown or a picture of both.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/commands/commands.h"
#include "app/options/option_checks.h"
#include "app/options/trace_options.h"
#include "app/output/formats.h"
#include "app/output/graphviz.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "archive/content_check.h"
#include "archive/model_file.h"
#include "compare/comparison.h"
#include "graph/analysis/collection_summary.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "writers/pictures/dot_writer.h"
#include "writers/pictures/html_writer.h"
#include "writers/pictures/marks.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal::cli {
namespace {

struct DiffAnswer {
  const GraphCollection &before, &after;
  ModelComparison& comparison;
  DifferenceKinds told;
  Isolated& isolated;
};

void write_folded(const DiffAnswer& answer, std::ostream& out, const TextLayout& layout) {
  fold_equal_modules(answer.comparison);
  write_comparison(answer.comparison, out, layout);
}
void write_unfolded(const DiffAnswer& answer, std::ostream& out) {
  write_comparison_json(answer.comparison, out);
}
// Writes one picture of both models.
template <void (*Write)(const GraphCollection&, std::ostream&, const PictureOptions&, const Marking&)>
void write_merged(const DiffAnswer& answer, std::ostream& out, const TextLayout&) {
  const MergedCollection& merged =
      answer.isolated.keep_alive(merge(answer.before, answer.after, answer.comparison, answer.told));
  Write(merged.collection, out, {}, mark_differences(merged));
}

constexpr AnswerRow<DiffAnswer> kDiffFormats[] = {
    {{".txt"}, write_folded},
    {{".json", "--json", "write JSON (schemas/comparison.schema.json)"}, write_plain<write_unfolded>},
    {{".md", "--markdown", "write GitHub's Markdown, for a pull request"}, write_markdown<write_folded>},
    {{.suffix = ".svg", .graphviz = "svg", .is_picture = true}, write_merged<write_dot>},
    {{.suffix = ".png", .graphviz = "png", .is_picture = true}, write_merged<write_dot>},
    {{.suffix = ".dot", .is_picture = true}, write_merged<write_dot>},
    {{.suffix = ".html", .is_picture = true}, write_merged<write_html>}};

struct DiffArguments : ModelArguments {
  CostArguments costs;
  std::string before, after;
  std::optional<std::string> only, ignore, fail_on;
  bool exit_code = false, verify_content = false;
  AnswerFormats<DiffAnswer> answer{kDiffFormats};

  struct Kinds {
    DifferenceKinds told, failing;
    // lists them one by one; by default only counted for people, as training changes all of them
    bool lists_weights = false;
  };
  Kinds kinds() const;  // throws Error(kUsage)
};

// Reads a list such as "nodes,shapes".
DifferenceKinds read_kinds(const std::string& option, const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kDifferenceKinds; ++i)
    names.emplace_back(to_string(static_cast<DifferenceKind>(i)));
  DifferenceKinds kinds;
  for (const std::size_t kind :
       places_of(text, names, option + ": unknown kind of difference", "the kinds are "))
    kinds.add(static_cast<DifferenceKind>(kind));
  return kinds;
}

DiffArguments::Kinds DiffArguments::kinds() const {
  Kinds kinds;
  const DifferenceKinds ignored = ignore ? read_kinds("--ignore", *ignore) : DifferenceKinds();
  const DifferenceKinds failing = fail_on ? read_kinds("--fail-on", *fail_on) : DifferenceKinds();
  kinds.told = only ? read_kinds("--only", *only) : DifferenceKinds::usual();
  for (std::size_t i = 0; i < kDifferenceKinds; ++i) {
    const auto kind = static_cast<DifferenceKind>(i);
    if (ignored.has(kind)) kinds.told.remove(kind);
    if (!failing.has(kind)) continue;
    if (ignored.has(kind) || (only && !kinds.told.has(kind))) {
      throw usage_error(std::string("--fail-on ") + to_string(kind) + ": " +
                        (ignored.has(kind) ? "excluded by --ignore" : "not among --only"));
    }
    kinds.told.add(kind);
  }
  kinds.lists_weights = only.has_value();
  kinds.failing = exit_code ? kinds.told : failing;
  return kinds;
}

bool is_model(const InputFile& input) { return is_traceable(identify_file(input.file()).kind); }

// Warns of records whose bytes are not those of their checksums.
void tell_damaged(const InputFile& input, const Listener& listener) {
  const auto& digests = input.file().digests();
  if (digests && !digests->damaged.empty())
    listener.warning(input.display() + ": " + damage_text(digests->damaged));
}

int diff(const DiffArguments& arguments, const Config& config, const TextLayout& layout,
         const InputFile& first, const InputFile& second, Output& output, Isolated& isolated) {
  if (arguments.trace.any(is_no_pass) && !is_model(first) && !is_model(second))
    throw usage_error("options of a trace do not apply to collections, which are traced already");
  const auto [before, after] = read_model_pair(config, first, second, isolated);
  for (const InputFile* input : {&first, &second}) tell_damaged(*input, isolated.listener());
  apply_costs(config, arguments.costs.at, before, after, isolated.listener());
  const DiffArguments::Kinds kinds = arguments.kinds();
  const auto& [format, write] = arguments.answer.row();
  ModelComparison& comparison =
      isolated.keep_alive(compare(before, after,
                                  {.kinds = format.is_picture ? DifferenceKinds::all() : kinds.told,
                                   .has_read_bytes = arguments.verify_content}));
  const bool fails = comparison.has_any(kinds.failing);
  if (comparison.unlisted > 0) {
    isolated.listener().warning(std::to_string(comparison.unlisted) +
                                " differences are counted but not listed: the listed ones take " +
                                std::to_string(kMostBytes >> 20) + " MiB, the most that a comparison holds");
  }
  if (!format.is_json() && !format.is_picture && !kinds.lists_weights)
    leave_out(comparison, DifferenceKind::kWeights);
  const DiffAnswer answer{before, after, comparison, kinds.told, isolated};
  output.write([&](std::ostream& out) { write(answer, out, layout); });
  check_strict(config, before, first.file(), isolated);
  if (!isolated.has_failed_strict()) check_strict(config, after, second.file(), isolated);
  return fails ? kNegative : kDone;
}

int run_diff(const DiffArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  static_cast<void>(arguments.kinds());  // reports wrong options before any work
  static_cast<void>(arguments.answer.format());
  if (arguments.before == "-" && arguments.after == "-")
    throw usage_error("only one of the two can come from stdin");
  InputFile first(arguments.before, console, arguments.isolation.seconds());
  InputFile second(arguments.after, console, arguments.isolation.seconds());
  if (arguments.verify_content) {
    first.verify_content();
    second.verify_content();
  }
  Output output(arguments.answer.output(), first, console);
  connect_graphviz(output, arguments.answer.format().graphviz, arguments.isolation, console);
  const TextLayout layout = arguments.answer.layout(console);
  return run_isolated(
      arguments.isolation, first, output, console, config.options,
      [&](Isolated& isolated) { return diff(arguments, config, layout, first, second, output, isolated); },
      {&second});
}

}  // namespace

Command make_diff_command(CLI::App& app) {
  auto arguments = std::make_shared<DiffArguments>();
  app.description(
      app.get_description() +
      " A and B are model files as for fxtrace trace, which are traced with the same options, or the JSON "
      "that fxtrace trace wrote; an option that only one kind of file takes goes to the model of that kind. "
      "TorchScript beside an exported program is traced with the sizes of that program's inputs. Modules "
      "are matched by path, nodes by what they do and what feeds them, not by their names: a node that was "
      "inserted or renamed is one line. Equal changes in equal blocks are shown once.");
  app.footer(
      "  fxtrace diff before.pt2 after.pt2\n"
      "  fxtrace diff model.pt model.pt2 --ignore guards,order --markdown\n"
      "  fxtrace diff released.json model.pt2 --fail-on parameters,shapes\n");
  app.add_option("A", arguments->before,
                 "the first: a model file or a collection's JSON file, or - for stdin")
      ->required();
  app.add_option("B", arguments->after, "the second, likewise")->required();
  const char* group = "Differences";
  const auto add_kinds = [&](const char* name, std::optional<std::string>& value, const char* text) {
    add_last_value(app, group, name, value, "KIND,..", text);
  };
  add_kinds(
      "--only", arguments->only,
      "only these kinds: modules, parameters, weights (their content, by the checksums of the "
      "archives or --verify-content), nodes, arguments, shapes, order, costs, guards, names, sources. Default: all but "
      "names and sources; of weights only the number that differ");
  add_kinds("--ignore", arguments->ignore, "without these kinds");
  add_kinds("--fail-on", arguments->fail_on, "exit code 1 when there is a difference of one of these kinds");
  app.add_flag("--exit-code", arguments->exit_code, "exit code 1 when any difference is shown")->group(group);
  app.add_flag("--verify-content", arguments->verify_content,
               "compare the bytes of weights, which are read, and not the checksums in the archives")
      ->group(group);
  arguments->costs.add_to(app, group);
  arguments->answer.add_to(app, " (a picture shows both models in one)");
  arguments->add_to(app);
  return [arguments](Console& console) { return run_diff(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
