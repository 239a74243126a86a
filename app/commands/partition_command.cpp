// `fxtrace partition`: shows what backends take of a model, and into which regions its graph falls.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/commands/commands.h"
#include "app/options/operator_sets.h"
#include "app/options/option_checks.h"
#include "app/options/refusals.h"
#include "app/options/trace_options.h"
#include "app/output/files.h"
#include "app/output/formats.h"
#include "app/output/graphviz.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "partition/partition.h"
#include "pipelines/answers/conversion.h"
#include "pipelines/answers/partition_model.h"
#include "pipelines/configs.h"
#include "support/descriptor_stream.h"
#include "support/text/did_you_mean.h"
#include "support/text/identifier.h"
#include "support/text/numbers.h"

namespace fxtrace::internal::cli {
namespace {

constexpr AnswerRow<PartitionAnswer> kPartitionFormats[] = {
    {{".txt"}, write_partition},
    {{".json", "--json", "write JSON (schemas/partition.schema.json)"}, write_plain<write_partition_json>},
    {{".md"}, write_markdown<write_partition>},
    {{".csv"}, write_plain<write_partition_csv>},
    {{".sarif"}, write_plain<write_partition_sarif>},
    {{".dot"}, write_plain<write_partition_dot>},
    {{.suffix = ".svg", .graphviz = "svg"}, write_plain<write_partition_dot>},
    {{.suffix = ".png", .graphviz = "png"}, write_plain<write_partition_dot>},
    {{".html"}, write_plain<write_partition_html>}};

struct PartitionArguments : ModelArguments {
  CostArguments costs;
  std::string model;
  std::vector<std::string> ops;
  PartitionRequest request;
  std::optional<std::string> min_macs;
  std::vector<std::string> requirements;
  std::optional<std::string> folder;
  AnswerFormats<PartitionAnswer> answer{kPartitionFormats};
};

constexpr std::size_t kMostPieces = 900;  // each is an open file

std::string list_of_sets() {
  std::string text;
  for (const ShippedSet& shipped : shipped_sets()) {
    const OperatorSet set = read_operator_set(shipped.text, std::string(shipped.name));
    text += set.name + std::string(set.name.size() < 20 ? 20 - set.name.size() : 1, ' ') + set.title + ": " +
            counted(static_cast<std::int64_t>(set.rows.size()), "row") + " of " + set.source + ", " +
            set.date + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

// Runs f; an error is said to be about the option.
template <class F>
void with_option(const char* option, const F& f) {
  try {
    f();
  } catch (const Error& error) {
    throw usage_error(std::string(option) + ": " + error.what(), error.hints());
  }
}

// Throws Error(kUsage) for a wrong pattern.
void check_patterns(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (text.starts_with('@')) {
      static_cast<void>(NamePattern(text.substr(1)));
    } else {
      static_cast<void>(Pattern(text));
    }
  }
}

// Writes the pieces and their plan to the outputs beside the report's.  Returns whether it could.
bool write_pieces(const PartitionedModel& partitioned, const Config& config,
                  const std::vector<std::string>& files, const InputFile& input, Output* beside,
                  Console& console) {
  const Program& model = *partitioned.traced.program;
  const GraphCollection& collection = partitioned.traced.collection;
  Pieces pieces = make_pieces(partitioned, config, input.file(), listener_of(console));
  if (pieces.refusals.empty()) {
    beside->write([&](std::ostream& out) {
      write_plan(partitioned.answer.partition, collection, model, pieces, files, out);
    });
    for (const Piece& piece : pieces.pieces) {
      beside = beside->beside();
      beside->write([&](std::ostream& out) {
        at_file(input.file(),
                [&] { write_program_archive({piece.records}, model, input.file(), true, out); });
      });
      const auto look = [&](const ModelFile& file) {
        add_faults(identify_file(file), pieces.refusals);
        return pieces.refusals.empty();
      };
      if (!beside->examine(look)) break;
    }
  }
  if (!pieces.refusals.empty()) report_refusals(pieces.refusals, input, console);
  return pieces.refusals.empty();
}

// Adds the outputs of the plan and of the pieces, in this order, beside that of the report.
void add_files(const std::string& folder, const std::vector<std::string>& files, const InputFile& input,
               Output& output, Console& console) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw input_error("cannot make the folder: " + failed.message()).at(folder);
  std::unique_ptr<Output> chain;
  const auto add = [&](const std::string& name) {
    auto next = std::make_unique<Output>((std::filesystem::path(folder) / name).string(), input, console);
    next->allow_any_size();  // as large as the weights
    if (chain) next->add_beside(std::move(chain));
    chain = std::move(next);
  };
  for (const std::string& file : std::views::reverse(files)) add(file);
  add("plan.json");
  std::error_code unknown;
  const auto place = [&](const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown);
  };
  const std::filesystem::path own = place(output.display());
  const auto is_own = [&](const std::string& name) {
    return place(std::filesystem::path(folder) / name) == own;
  };
  if (output.display() != "stdout" && (is_own("plan.json") || std::ranges::any_of(files, is_own)))
    throw usage_error("-o and --extract name the same file: " + output.display());
  output.add_beside(std::move(chain));
}

// Returns the names of the files of --extract: "part_1_npu.pt2".
std::vector<std::string> names_of_files(const std::string& owners, const std::vector<OperatorSet>& sets) {
  std::vector<std::string> names;
  for (const char owner : owners) {
    const auto set = static_cast<std::size_t>(static_cast<unsigned char>(owner));
    std::string name = set < sets.size() ? sets[set].name : "left";
    std::ranges::replace_if(name, [](char c) { return !is_word(c) && c != '-'; }, '_');
    names.push_back("part_" + std::to_string(names.size() + 1) + "_" + name + ".pt2");
  }
  return names;
}

// Writes a character for each piece: the number of its set.
void write_owners(const Partition& partition, std::ostream& out) {
  for (std::size_t i = 0; i < count_pieces(partition); ++i)
    out.put(partition.parts[i].set ? static_cast<char>(*partition.parts[i].set) : '\xff');
}

int run_partition(PartitionArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  ask_for_operators(config.options);
  if (arguments.folder) config.options.beyond_ranges = false;  // pieces keep the ranges of the model
  if (config.passes.empty()) config.passes.emplace_back(kFunctional);
  const auto& [format, write] = arguments.answer.row();  // reports wrong options before any work
  std::vector<Gate> gates;
  for (const std::string& text : arguments.requirements) gates.push_back(parse_gate(text));
  if (arguments.ops.empty())
    throw usage_error("missing --ops: a set of operators, or a file with one", {"--list names the sets"});
  PartitionRequest request = arguments.request;
  for (const std::string& name : arguments.ops) {
    OperatorSet set = set_of(read_backend(name, console));
    if (std::ranges::find(request.sets, set.name, &OperatorSet::name) != request.sets.end())
      throw usage_error("--ops: two sets are called " + shell_quoted(set.name));
    request.sets.push_back(std::move(set));
  }
  if (request.sets.size() > kMostSets)
    throw usage_error("--ops: at most " + std::to_string(kMostSets) + " sets can be given");
  with_option("--min-macs", [&] {
    if (arguments.min_macs) request.min_macs = parse_amount(*arguments.min_macs);
  });
  with_option("--exclude", [&] { check_patterns(request.exclude); });
  with_option("--keep-together", [&] { check_patterns(request.keep_together); });
  const InputFile input(arguments.model, console, arguments.isolation.seconds());
  const auto made = [&](Run& run) {
    return partition_model(config, arguments.trace.any(), request, gates, arguments.costs.at, input, run);
  };
  std::vector<std::string> files;
  if (arguments.folder) {
    // The files have to be open before the model is read, so it is read once to count them.
    std::string owners;
    Output product("-", input, console);
    product.set_filter([&](int in, int) { owners = read_all(in); });
    run_isolated(arguments.isolation, input, product, console, config.options, [&](Isolated& isolated) {
      Run quiet({}, true);  // what there is to say is said when it is read again
      const PartitionedModel& partitioned = isolated.keep_alive(made(quiet));
      if (partitioned.traced.program == nullptr)
        throw usage_error("--extract takes a model: a collection has no weights");
      product.write([&](std::ostream& out) { write_owners(partitioned.answer.partition, out); });
      return kDone;
    });
    if (owners.size() > kMostPieces)
      throw input_error("it falls into " + with_separators(static_cast<std::int64_t>(owners.size())) +
                            " pieces, more than " + with_separators(kMostPieces),
                        {"--min-nodes N and --max-regions N make fewer"});
    files = names_of_files(owners, request.sets);
  }
  Output output(arguments.answer.output(), input, console);
  connect_graphviz(output, format.graphviz, arguments.isolation, console);
  if (arguments.folder) add_files(*arguments.folder, files, input, output, console);
  const TextLayout layout = arguments.answer.layout(console);
  return run_isolated(arguments.isolation, input, output, console, config.options, [&](Isolated& isolated) {
    const PartitionedModel& partitioned = isolated.keep_alive(made(isolated));
    if (arguments.folder && !write_pieces(partitioned, config, files, input, output.beside(), console))
      return kModuleFailed;
    output.write([&](std::ostream& out) { write(partitioned.answer, out, layout); });
    const bool holds = std::ranges::all_of(partitioned.answer.gates, &GateResult::holds);
    return holds ? kDone : kNegative;
  });
}

}  // namespace

Command make_partition_command(CLI::App& app) {
  auto arguments = std::make_shared<PartitionArguments>();
  PartitionRequest& request = arguments->request;
  app.description(
      app.get_description() +
      " A backend is a set of operators, with conditions: one that comes with the program (--list), or a file "
      "(schemas/ops.schema.json, or one operator or glob a line). The calls that it takes become regions, few "
      "and as large as an order of execution allows. The graph is made functional first, as backends take it; "
      "--pass gives other passes. MODEL is a model file as for fxtrace trace, or the JSON "
      "that fxtrace trace wrote; a model is traced down to operators. TorchScript needs --input for shapes.");
  app.footer(
      "  fxtrace partition model.pt2 --ops xnnpack\n"
      "  fxtrace partition model.pt2 --ops npu.json --ops gpu.txt --min-nodes 3 --require 'covered>=95%'\n");
  app.add_option("MODEL", arguments->model, "the model file or a collection's JSON file, or - for stdin")
      ->required();
  const char* group = "Backends";
  add_value(app, group, "--ops", arguments->ops, "SET|FILE",
            "what a backend takes; repeatable: the first that takes a call has it")
      ->allow_extra_args(false);
  app.add_flag_callback(
         "--list", [] { throw CLI::CallForVersion(list_of_sets(), 0); },
         "list the sets that come with the program")
      ->group(group)
      ->trigger_on_parse();
  add_value(
      app, group, "--exclude", request.exclude, "NAME",
      "leave what matches: a glob over operators, types and paths of modules; '@PATH' over paths alone. "
      "Repeatable")
      ->allow_extra_args(false);
  add_value(app, group, "--keep-together", request.keep_together, "NAME",
            "take a module whole or not at all: a glob over its type or path, as for --exclude. Repeatable")
      ->allow_extra_args(false);
  group = "Regions";
  add_last_value(app, group, "--min-nodes", request.min_nodes, "N",
                 "leave regions with fewer calls. Default: 1")
      ->check(integer_from(1));
  add_last_value(app, group, "--min-macs", arguments->min_macs, "N",
                 "leave regions with fewer multiply-accumulates: 1M");
  add_last_value(app, group, "--max-regions", request.max_regions, "N",
                 "keep only the N largest regions, by MACs")
      ->check(integer_from(0));
  add_value(
      app, group, "--require", arguments->requirements, "RULE",
      "exit with code 1 unless it holds: 'covered>=95%', 'regions<=2'; also of operators, modules, macs, "
      "left, cut_edges and cut_bytes. Repeatable")
      ->allow_extra_args(false);
  arguments->costs.add_to(app, group);
  add_last_value(
      app, "Output", "--extract", arguments->folder, "DIR",
      "write each part of the model's own graph as a program (.pt2) with its weights, and plan.json, "
      "which joins them (schemas/plan.schema.json); python.md shows how to run it");
  arguments->answer.add_to(app);
  arguments->add_to(app);
  return [arguments](Console& console) { return run_partition(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
