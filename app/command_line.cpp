#include "app/command_line.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/cli.h"
#include "app/command_text.h"
#include "app/commands/commands.h"
#include "app/output/output.h"
#include "app/version.h"
#include "support/text/did_you_mean.h"

namespace fxtrace::internal::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> long_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The only list of commands; the help is made from it.
struct Row {
  const char* name;
  const char* headline;  // the first sentence of its description
  Command (*make)(CLI::App& app);
};
constexpr Row kCommands[] = {
    {"trace", "Trace a model into torch.fx graphs.", make_trace_command},
    {"summary", "Show what a model is and what it costs, module by module.", make_summary_command},
    {"inspect", "Show what a model file holds: inputs and outputs, methods, parameters and modules.",
     make_inspect_command},
    {"render", "Draw a model, or write a graph collection in another format or after graph passes.",
     make_render_command},
    {"diff",
     "Show the differences between two models: modules, parameters, weights, nodes and their arguments, "
     "shapes, order of use, costs and guards.",
     make_diff_command},
    {"order", "Show in which order a model uses its modules and parameters.", make_order_command},
    {"extract",
     "Write a part of a model as a graph collection of its own: a call of a module, or all nodes that lead "
     "from some nodes to others.",
     make_extract_command},
    {"convert",
     "Convert a TorchScript archive to a torch.export program (.pt2), without torch; torch.export.load and "
     "compilers of such programs read it.",
     make_convert_command},
    {"partition",
     "Show what backends take of a model: which operators they do not take, why, where each is, and into "
     "which regions the graph falls.",
     make_partition_command},
    {"why",
     "Explain why modules failed to trace and which options help; each suggested option has been tried, "
     "alone and with others.",
     make_why_command},
    {"check",
     "Check a model against rules, for CI: report every place that breaks a rule, with its source line, and "
     "exit with code 1 if a rule of severity error is broken.",
     make_check_command},
    {"bom",
     "Write a bill of materials of model files, as CycloneDX 1.6 or SPDX 2.3: their hashes, operators, licences and the torch that "
     "wrote them.",
     make_bom_command},
    {"catalog",
     "Read many models into one SQLite database: a row for each model, module, parameter, graph, node, "
     "edge, operator and failure (docs/how-to/catalog.md), so that a question about all of them is one SQL "
     "statement.",
     make_catalog_command},
    {"query", "Run an SQL query (SQLite's dialect) on a catalog of models.", make_query_command},
    {"verify",
     "Run the model and its traced graph on the same inputs, and report whether the results are equal, bit "
     "for bit; if not, the first node that differs.",
     make_verify_command},
    {"schema", "Print the JSON schema of a format that fxtrace writes or reads.", make_schema_command}};

bool is_command(std::string_view word) {
  return std::ranges::any_of(kCommands, [&](const Row& row) { return word == row.name; });
}

// Returns whether the first argument is a file, or cannot be a command: `fxtrace FILE` means `fxtrace summary
// FILE`, and `fxtrace -- FILE` the same of any name.
bool is_file_without_command(const std::vector<std::string>& args) {
  if (args.empty()) return false;
  const std::string& first = args.front();
  if (first == "-" || first == "--") return true;
  if (first.starts_with('-') || is_command(first)) return false;
  std::error_code ignored;
  return fs::exists(first, ignored) || first.find('/') != std::string::npos ||
         fs::path(first).has_extension();
}

void check_command(const std::vector<std::string>& args) {
  const std::string hint = "fxtrace --help lists the commands";
  if (args.empty()) throw usage_error("missing command", {hint});
  const std::string& first = args.front();
  if ((first.starts_with('-') && first != "-") || is_command(first)) return;
  std::vector<std::string> names;
  for (const Row& row : kCommands) names.emplace_back(row.name);
  throw usage_error("unknown command '" + first + "'" + did_you_mean(first, names), {hint});
}

bool is_there(const std::string& name) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(name, ignored));
}

// Refuses a word that is a file and may be an option: a hook gets the names of a stranger's files behind its
// own arguments, and where these do not end with `--`, nothing tells one from the other.
void refuse_files_as_options(const std::vector<std::string>& args) {
  if (std::ranges::find(args, "--programs-only") == args.end()) return;
  const auto end = std::ranges::find(args, "--");
  if (end != args.end() && !is_there("--")) return;
  const auto is_either = [](const std::string& word) { return word.starts_with('-') && is_there(word); };
  const auto found = std::ranges::find_if(args.begin(), end, is_either);
  if (found == end) return;
  throw usage_error("'" + *found + "' is a file, and is written as an option",
                    {"behind -- every word is a file: a hook's args end with it"});
}

// Rewrites `fxtrace help trace` and `fxtrace version` to options, as other programs understand them, unless
// there is a file of that name.
void read_as_options(std::vector<std::string>& args) {
  std::error_code ignored;
  if (args.empty() || fs::exists(args.front(), ignored)) return;
  if (args.front() == "version" && (args.size() == 1 || args[1] == "--json")) args.front() = "--version";
  if (args.front() != "help" || args.size() > 2) return;
  args.erase(args.begin());
  args.emplace_back("--help");
}

constexpr const char* kVersion = "fxtrace " FXTRACE_VERSION;

bool is_version(const std::string& word) { return word == "--version" || word == "-V"; }

// Returns whether the arguments are `--version --json`; no command follows, so the two are not options of
// one.
bool asks_for_build(const std::vector<std::string>& args) {
  return args.size() == 2 && std::ranges::count_if(args, is_version) == 1 &&
         std::ranges::count(args, "--json") == 1;
}

constexpr std::size_t kLeastHelpWidth = 60;  // half of it is the column of names

}  // namespace

CommandLine::CommandLine(std::string_view only)
    : app_("Trace PyTorch models into torch.fx graphs, without Python.", "fxtrace") {
  app_.formatter(std::make_shared<CLI::FormatterLambda>(
      [](const CLI::App* app, const std::string&, CLI::AppFormatMode) { return format_help(app); }));
  app_.footer(
      "  fxtrace model.pt\n"
      "  fxtrace trace model.pt --leaf torch.nn.Linear -o model.json\n"
      "  fxtrace inspect model.pt\n");
  app_.set_help_flag("-h,--help", "show this help");
  app_.set_version_flag("-V,--version", kVersion,
                        "show the version; with --json the build, its features, and the sandbox mechanisms "
                        "that work here");
  app_.require_subcommand(1);
  for (const Row& row : kCommands) {
    const bool is_made = only.empty() || only == row.name;
    if (!is_made && is_command(only)) continue;
    CLI::App* app = app_.add_subcommand(row.name, row.headline);
    if (is_made) commands_.emplace_back(app, row.make(*app));
  }
}

int CommandLine::run(std::vector<std::string> args, Console& console) {
  read_as_options(args);
  if (asks_for_build(args)) {
    write_stdout(console, write_version_json);
    return kDone;
  }
  if (args.size() == 1 && is_version(args.front())) {  // before any option is made
    write_stdout(console, [](std::ostream& out) { out << kVersion << "\n"; });
    return kDone;
  }
  if (is_file_without_command(args)) args.insert(args.begin(), "summary");
  check_command(args);
  refuse_files_as_options(args);
  const bool is_enough = args.size() == 1 || is_command(args.front());
  return CommandLine(is_enough ? args.front() : "").parse_and_run(args, console);
}

int CommandLine::parse_and_run(const std::vector<std::string>& args, Console& console) {
  try {
    app_.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 takes them last first
  } catch (const CLI::CallForHelp&) {
    const std::size_t width = std::clamp(console.out_width(), kLeastHelpWidth, kHelpWidth);
    write_stdout(console, [&](std::ostream& out) { out << format_help(chosen(), width); });
    return kDone;
  } catch (const CLI::CallForVersion& version) {
    write_stdout(console, [&](std::ostream& out) { out << version.what() << "\n"; });
    return kDone;
  } catch (const CLI::ParseError& error) {
    throw wrong_usage(error);
  }
  const auto command =
      std::ranges::find_if(commands_, [](const auto& candidate) { return candidate.first->parsed(); });
  return command->second(console);
}

const CLI::App* CommandLine::chosen() const {
  for (const auto& [app, run] : commands_) {
    if (app->parsed()) return app;
  }
  return &app_;
}

Error CommandLine::wrong_usage(const CLI::ParseError& error) const {
  // If something unknown stands before the command, the error is about fxtrace itself.
  const CLI::App* app = app_.remaining(false).empty() ? chosen() : &app_;
  const std::string hint =
      (app == &app_ ? "fxtrace" : "fxtrace " + app->get_name()) + " --help shows the options";
  bool is_behind = false;  // behind --
  for (const std::string& left : app->remaining(true)) {
    if (left == "--" && !std::exchange(is_behind, true)) continue;
    if (is_behind || left.size() < 2 || left.front() != '-') {
      return usage_error("unexpected argument '" + left + "'", {hint});
    }
    return unknown_option(left.substr(0, left.find('=')), app, hint);
  }
  // CLI11 says "--leaf: 1 required RULE missing" for an option without its value.
  std::string message = error.what();
  constexpr std::string_view kRequired = ": 1 required ";
  constexpr std::string_view kMissing = " missing";
  const std::size_t required = message.find(kRequired);
  if (required != std::string::npos && message.ends_with(kMissing)) {
    message.replace(required, kRequired.size(), ": expected ");
    message.resize(message.size() - kMissing.size());
  }
  return usage_error(message, {hint});
}

Error CommandLine::unknown_option(const std::string& name, const CLI::App* app,
                                  const std::string& hint) const {
  // "-output" was probably meant to be "--output".
  const std::string long_name = name.starts_with("--") || name.size() == 2 ? name : "-" + name;
  const CommandLine all;
  for (const auto& [other, run] : all.commands_) {
    const auto names = long_names(other);
    if (other->get_name() == app->get_name() || std::ranges::find(names, long_name) == names.end()) continue;
    const std::string owner = "fxtrace " + other->get_name();
    return usage_error(
        "unknown option '" + name + "': it belongs to " + owner,
        {app == &app_ ? "options come after the command: " + owner + " MODEL " + long_name : hint});
  }
  return usage_error("unknown option '" + name + "'" +
                         (long_name.size() > 2 ? did_you_mean(long_name, long_names(app)) : ""),
                     {hint});
}

}  // namespace fxtrace::internal::cli
