// `fxtrace summary`, also `fxtrace MODEL`: shows the modules of a model in a table, with shapes, parameters
// and costs.
#include "app/commands/commands.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
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
#include "pipelines/answers/questions.h"
#include "summaries/model_summary.h"
#include "support/error.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal::cli {
namespace {

constexpr AnswerRow<ModelSummary> kSummaryFormats[] = {
    {{".txt"}, write_summary},
    {{".json", "--json", "write JSON, with exact numbers, and expressions of dimensions as text"},
     write_plain<write_summary_json>},
    {{".csv", "--csv",
      "write CSV (RFC 4180), one row a module; a text that a spreadsheet would take for a formula gets an "
      "apostrophe in front"},
     write_plain<write_summary_csv>},
    {{".md", "--markdown", "write a table in GitHub's Markdown"}, write_markdown<write_summary>},
    {{".perfetto", "--perfetto",
      "write the memory that each call holds as a trace for ui.perfetto.dev and Chrome; --memory is implied"},
     write_plain<write_memory_trace>}};

// The most rows of a table for people, unless --depth limits it.
constexpr std::size_t kMostSummaryRows = 100;

struct SummaryArguments : ModelArguments {
  CostArguments costs;
  std::string model;
  std::optional<std::int64_t> depth;
  std::optional<std::string> sort;
  std::optional<bool> fold;
  std::vector<CostColumn> columns;
  std::optional<std::string> on;
  bool memory = false;
  AnswerFormats<ModelSummary> answer{kSummaryFormats};
};

// Reads a list such as "weights,intensity"; each column counts once.
std::vector<CostColumn> read_columns(const std::string& text) {
  std::vector<CostColumn> columns;
  for (const std::size_t place : places_of(text, {"weights", "kv-cache", "intensity", "flops", "quant"},
                                           "--columns: unknown column", "the columns are ")) {
    const auto column = static_cast<CostColumn>(place);
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  }
  return columns;
}

// Applies the options that choose, fold and sort rows.
void shape(ModelSummary& summary, const SummaryArguments& arguments) {
  const bool is_for_people = arguments.answer.format().is_for_people();
  const bool folds = arguments.fold.value_or(is_for_people);
  if (arguments.depth) {
    limit_depth(summary, *arguments.depth);
  } else if (is_for_people && folds) {
    limit_rows(summary, kMostSummaryRows);
  }
  if (folds) fold_repeats(summary);
  if (arguments.sort == "macs") sort_rows(summary, SortKey::kMacs);
  if (arguments.sort == "params") sort_rows(summary, SortKey::kParameters);
  if (arguments.sort == "bytes") sort_rows(summary, SortKey::kBytes);
}

// Returns the device of --on: a row of the table, or the one of a file.
Accelerator device_of(const std::string& name, Console& console) {
  if (name.find_first_of("./") == std::string::npos) return Accelerator::named(name);
  std::vector<Accelerator> devices = Accelerator::of_json(read_small_file(name, console), name);
  if (devices.size() == 1) return std::move(devices.front());
  throw usage_error("expected one device, and there are " + std::to_string(devices.size())).at(name);
}

int summarize(const SummaryArguments& arguments, const std::optional<Accelerator>& device,
              const Config& config, const TextLayout& layout, const NamedFile& file, Output& output,
              Isolated& isolated) {
  const bool memory = arguments.memory || std::string_view(arguments.answer.format().suffix) == ".perfetto";
  ModelSummary summary = summarize_file(
      config, {arguments.costs.at, arguments.trace.any(), memory, device, arguments.columns}, file, isolated);
  shape(summary, arguments);
  output.write([&](std::ostream& out) { arguments.answer.row().write(summary, out, layout); });
  return kDone;
}

}  // namespace

Command make_summary_command(CLI::App& app) {
  auto arguments = std::make_shared<SummaryArguments>();
  app.description(
      app.get_description() +
      " The table has for each module its type, the shape of its first call's result, the number and bytes "
      "of its parameters, and the multiply-accumulates (MACs) of all its calls, submodules included; below "
      "it stand totals. `fxtrace MODEL` alone does the same. MODEL is a model file as for fxtrace trace, or "
      "the JSON that fxtrace trace wrote. An exported program knows its shapes; TorchScript needs --input "
      "for shapes and MACs. Consecutive equal blocks share one row, and so do their submodules.");
  app.footer(
      "  fxtrace summary model.pt2\n"
      "  fxtrace summary model.pt --input 'x=float32[1,3,224,224]' --sort macs\n");
  app.add_option("MODEL", arguments->model, "the model file or a collection's JSON file, or - for stdin")
      ->required();
  const char* table = "Table";
  add_last_value(app, table, "--depth", arguments->depth, "N",
                 "show modules down to N levels below the root. Default: as many levels as fit into 100 "
                 "rows; all with --json, --csv or --no-fold")
      ->check(integer_from(0));
  add_last_value(app, table, "--sort", arguments->sort, "macs|params|bytes",
                 "sort the submodules of each module, largest first; expressions count with 128 for each "
                 "dimension. Default: the order of the model")
      ->check(one_of({"macs", "params", "bytes"}));
  app.add_option_function<std::string>(
         "--columns",
         [raw = arguments.get()](const std::string& text) {
           for (const CostColumn column : read_columns(text)) raw->columns.push_back(column);
         },
         "more columns: weights (bytes of weights that are read), kv-cache (bytes of the keys and values of "
         "attention), intensity (operations for each byte that is read or written), flops (as "
         "torch.utils.flop_counter counts them), quant (how weights are stored, and how many of "
         "the calls with MACs are between dequantize and quantize)")
      ->type_name("NAME,..")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group(table);
  CLI::Option* fold = app.add_flag_callback(
      "--fold", [arguments] { arguments->fold = true; },
      "one row for consecutive equal blocks; the default for text and Markdown");
  fold->group(table);
  app.add_flag_callback(
         "--no-fold", [arguments] { arguments->fold = false; },
         "a row for each module; the default of --json and --csv")
      ->group(table)
      ->excludes(fold);
  add_last_value(
      app, table, "--on", arguments->on, "DEVICE|FILE",
      "the least time on a device, what bounds it, and whether the model fits into its memory. A device "
      "is a name such as h100 (a wrong one lists all), or a file with one (fxtrace schema devices)");
  app.add_flag("--memory", arguments->memory,
               "the tensors that live at the peak; in JSON and CSV the bytes that live in each call")
      ->group(table);
  arguments->costs.add_to(app, table);
  arguments->answer.add_to(app);
  arguments->add_to(app);
  return [arguments](Console& console) {
    Config config = arguments->set_up(console);
    std::optional<Accelerator> device;
    if (arguments->on) device = device_of(*arguments->on, console);
    return run_answer(
        *arguments, std::move(config), console,
        [&](const SummaryArguments& given, auto&&... rest) { return summarize(given, device, rest...); });
  };
}

}  // namespace fxtrace::internal::cli
