// `fxtrace check`: checks models against rules, for CI, and reports every place that breaks one.
// Each model is read in a sandboxed process of its own, which writes its report as JSON; this process reads
// the reports, applies the baseline of known offences, and writes them together in the chosen format.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/commands/commands.h"
#include "app/options/operator_sets.h"
#include "app/options/option_checks.h"
#include "app/options/trace_options.h"
#include "app/output/files.h"
#include "app/output/formats.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "app/process/resource_limits.h"
#include "pipelines/answers/model_check.h"
#include "pipelines/configs.h"
#include "rules/check.h"
#include "rules/check_reports.h"
#include "rules/rule.h"
#include "security/checkpoint_check.h"
#include "support/descriptor_stream.h"
#include "support/log.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
#include "support/text/words.h"
#include "writers/check/check_writers.h"

namespace fxtrace::internal::cli {
namespace {

constexpr AnswerRow<CheckReports> kCheckFormats[] = {
    {{".txt"}, write_check},
    {{".json", "--json", "write JSON (schemas/check.schema.json)"}, write_plain<write_check_json>},
    {{.suffix = ".xml",
      .option = "--junit",
      .help = "write JUnit's XML, a test case for each rule",
      .other_name = "junit"},
     write_plain<write_check_junit>},
    {{".sarif", "--sarif", "write SARIF 2.1.0, a result for each offence"}, write_plain<write_check_sarif>},
    {{".md", "--markdown", "write GitHub's Markdown"}, write_markdown<write_check>}};

struct CheckArguments : ModelArguments {
  CostArguments costs;
  std::vector<std::string> models;
  std::vector<Rule> rules;  // from the command line, in the order of parsing
  std::vector<std::string> rule_files, ops_files, backends;
  std::string baseline, written_baseline;
  bool program = false, security = false, verify_content = false, programs_only = false;
  AnswerFormats<CheckReports> answer{kCheckFormats};
};

struct Rules {
  std::vector<Rule> rules;
  bool are_default = false;
};

// Throws Error(kUsage).
Rules resolve_rules(const CheckArguments& arguments, Console& console) {
  const auto read_file = [&](const std::string& file) { return read_small_file(file, console); };
  Rules result;
  // CLI11 handles some options at once and others at the end, so rules are sorted by kind, in the order of
  // the help.
  for (int kind = 0; kind <= static_cast<int>(RuleKind::kSecurity); ++kind) {
    for (const Rule& rule : arguments.rules) {
      if (static_cast<int>(rule.kind) == kind) add_rule(result.rules, rule);
    }
  }
  for (const std::string& file : arguments.ops_files)
    add_rule(result.rules, ops_rule(read_file(file), std::filesystem::path(file).filename().string()));
  for (const std::string& set : arguments.backends) add_rule(result.rules, read_backend(set, console));
  for (const std::string& file : arguments.rule_files)
    if (!add_shipped_rules(file, result.rules))
      read_rules(read_file(file), file, read_file, check_set, result.rules);
  std::ranges::for_each(result.rules, check_set);  // before any work
  result.are_default =
      result.rules.empty() && !arguments.security && !arguments.program && !arguments.verify_content;
  if (result.are_default) result.rules.push_back(no_failed_rule());
  if (arguments.verify_content) add_rule(result.rules, content_rule());
  if (arguments.program) {
    for (Rule& rule : program_rules()) add_rule(result.rules, std::move(rule));
  }
  if (arguments.security || result.are_default) {
    for (Rule& rule : security_rules()) add_rule(result.rules, std::move(rule));
  }
  return result;
}

// The shards of a distributed checkpoint, opened for the check of its metadata, which lies beside them.
class OpenShards {
 public:
  OpenShards(const InputFile& metadata, std::uint64_t seconds, Console& console) {
    const auto folder = std::filesystem::path(metadata.display()).parent_path();
    std::error_code failed;
    std::vector<std::string> names;
    for (std::filesystem::directory_iterator at(folder.empty() ? "." : folder, failed), end;
         !failed && at != end; at.increment(failed)) {
      std::error_code unknown;  // a pipe would have to be waited for
      if (at->path().native().ends_with(security::kShard) && at->is_regular_file(unknown))
        names.push_back(at->path().filename().string());
    }
    std::ranges::sort(names);
    shards_.count = names.size();
    const std::size_t most = std::min(kMostShards, allow_open_files(std::min(names.size(), kMostShards)));
    for (const std::string& name : names) {
      if (shards_.shards.size() >= most) break;
      try {
        const auto& input =
            inputs_.emplace_back(std::make_unique<InputFile>((folder / name).string(), console, seconds));
        shards_.shards.push_back({name, input->file()});
      } catch (const Error&) {
        continue;  // the metadata may not name it
      }
    }
  }

  const security::CheckpointShards& shards() const { return shards_; }
  std::vector<const InputFile*> inputs() const {
    std::vector<const InputFile*> inputs;
    std::ranges::transform(inputs_, std::back_inserter(inputs), &std::unique_ptr<InputFile>::get);
    return inputs;
  }

 private:
  static constexpr std::size_t kMostShards = 20'000;
  std::vector<std::unique_ptr<InputFile>> inputs_;
  security::CheckpointShards shards_;
};

// Reads one model in a process of its own, and returns its exit code.
int check_one(const CheckArguments& arguments, const Rules& rules, const InputFile& input, Config config,
              CheckReports& reports, Console& console) {
  Output product("-", input, console);
  std::string text;
  product.set_filter([&](int in, int) { text = read_all(in); });
  std::optional<OpenShards> shards;
  if (security::is_checkpoint_metadata(input.base_name()) &&
      std::ranges::any_of(rules.rules, is_about_safety))
    shards.emplace(input, arguments.isolation.seconds(), console);
  const CheckRequest request{.rules = rules.rules,
                             .has_default_rules = rules.are_default,
                             .is_for_programs = arguments.programs_only,
                             .has_trace_options = arguments.trace.any(is_no_pass),
                             .must_trace = arguments.trace.any(),
                             .at = arguments.costs.at,
                             .shards = shards ? &shards->shards() : nullptr};
  const int code = run_isolated(
      arguments.isolation, input, product, console, config.options,
      [&](Isolated& isolated) {
        // The report crosses to this process as JSON; the formats of the user are written here.
        const CheckReport& report = isolated.keep_alive(check_model(config, request, input, isolated));
        product.write([&](std::ostream& out) { write_check_report(report, out); });
        return report.holds() ? kDone : kNegative;
      },
      shards ? shards->inputs() : std::vector<const InputFile*>());
  reports.models.push_back(read_check_report(text, input.display()));
  return code;
}

// The baseline: offences that are known, and those that the user wants to record as known.
class KnownOffences {
 public:
  // Reads the file of --baseline, or that of --write-baseline if it is there already.  Throws Error(kUsage).
  KnownOffences(const CheckArguments& arguments, const std::vector<Rule>& rules, Console& console)
      : rules_(rules),
        is_written_(!arguments.written_baseline.empty()),
        file_(is_written_ ? arguments.written_baseline : arguments.baseline) {
    std::error_code failed;
    if (is_written_ && std::filesystem::is_regular_file(file_, failed)) {
      try {
        baseline_ = read_baseline(read_small_file(file_), file_);
      } catch (const Error& error) {  // it may be another file of the user, without a copy elsewhere
        throw Error(error.kind(), error.what(), {"without that file, --write-baseline writes a new one"})
            .at(error.place());
      }
    } else if (!file_.empty() && !is_written_) {
      baseline_ = read_baseline(read_small_file(file_, console), file_);
      check_is_for(baseline_, rules_, file_);
    }
  }

  // Checks what can be checked before the work begins; throws as the constructor of Output does.
  void open(const InputFile& model, const CheckArguments& arguments, Console& console) {
    if (!is_written_) return;
    std::error_code failed;
    const auto place = [&](const std::string& name) {
      return std::filesystem::weakly_canonical(std::filesystem::absolute(name, failed), failed);
    };
    if (place(file_) == place(arguments.answer.output()))
      throw usage_error("--write-baseline and -o name the same file: " + file_);
    written_ = std::make_unique<Output>(file_, model, console);
    written_->allow_any_size();
  }
  void check_not(const InputFile& model) const {
    if (written_) written_->check_not(model);
  }

  // Marks known offences; with --write-baseline, that is all of them.  The baseline is not written if a model
  // could not be read, as its offences would be missing.
  void apply(CheckReports& reports, Console& console) {
    if (file_.empty()) return;
    if (is_written_ && !reports.unread.empty()) {
      console.remark("note", file_ + " is not written, as not all models could be read");
      written_.reset();
      return;
    }
    if (is_written_) {
      baseline_ = baseline_of(reports.models, baseline_, rules_, file_, [](const std::string& model) {
        std::error_code failed;
        return std::filesystem::exists(model, failed);
      });
    }
    for (CheckReport& report : reports.models) apply_baseline(baseline_, report);
    if (!is_written_) report_gone(reports, console);
  }

  // Writes the baseline beside `output`, whose prepare() has run.
  void write(Output& output) {
    if (!written_) return;
    written_->prepare();
    written_->write([&](std::ostream& out) { write_check_baseline(baseline_, out); });
    output.add_beside(std::move(written_));
  }

 private:
  // Reports offences of the baseline that these models no longer have.
  void report_gone(const CheckReports& reports, Console& console) const {
    std::vector<std::string> others = models_of(baseline_);
    for (const CheckReports::Unread& unread : reports.unread) std::erase(others, path_from_here(unread.path));
    for (const CheckReport& report : reports.models) {
      std::erase(others, path_from_here(report.path));
      if (report.gone.empty()) continue;
      console.remark("note", file_ + " has more than there is in " + report.path + ": " +
                                 check_words::gone_rules(report) + "; --write-baseline takes it out");
    }
    // This is only logged, since a pre-commit hook passes only files that changed.
    if (!others.empty()) log::info(file_ + " has offences of models that were not given: " + joined(others));
  }

  const std::vector<Rule>& rules_;
  bool is_written_;
  std::string file_;  // empty: nothing is known
  Baseline baseline_;
  std::unique_ptr<Output> written_;
};

int run_check(const CheckArguments& arguments, Console& console) {
  const Config config = arguments.set_up(console);
  const Rules rules = resolve_rules(arguments, console);
  KnownOffences known(arguments, rules.rules, console);
  CheckReports reports;
  int code = kDone;
  std::optional<Output> output;
  for (const std::string& name : arguments.models) {
    // A model that cannot be read does not prevent the check of the others.
    std::optional<InputFile> input;
    const auto is_left_out = [&](const Error& error) {
      if (arguments.models.size() == 1) return false;
      console.error(error);
      code = std::max(code, exit_code(error.kind()));
      reports.unread.push_back({input ? input->display() : name, error.what()});
      return true;
    };
    try {
      input.emplace(name, console, arguments.isolation.seconds());
    } catch (const Error& error) {
      if (!is_left_out(error)) throw;
      continue;
    }
    if (!output) {
      output.emplace(arguments.answer.output(), *input, console);
      output->allow_any_size();
      known.open(*input, arguments, console);
    }
    output->check_not(*input);
    known.check_not(*input);
    try {
      const int one = check_one(arguments, rules, *input, config, reports, console);
      if (one != kNegative) code = std::max(code, one);  // broken rules count later, after the baseline
    } catch (const Error& error) {
      if (!is_left_out(error)) throw;
    }
  }
  refuse_unknown_names(reports);
  if (reports.models.empty()) return code;
  known.apply(reports, console);
  if (!std::ranges::all_of(reports.models, &CheckReport::holds)) code = std::max(code, kNegative);
  output->wait_at_most(arguments.isolation.seconds());
  output->prepare();
  output->write([&](std::ostream& out) {
    arguments.answer.row().write(reports, out, arguments.answer.layout(console));
  });
  known.write(*output);
  output->commit();
  return code;
}

}  // namespace

Command make_check_command(CLI::App& app) {
  auto arguments = std::make_shared<CheckArguments>();
  app.description(
      app.get_description() +
      " Without a rule, --no-failed and --security apply. MODEL is a model file as for fxtrace trace, or "
      "the JSON that fxtrace trace wrote; --security and --verify-content alone take any file. As for fxtrace summary, modules "
      "of torch.nn are traced into, unless options say which are leaves, and TorchScript needs --input for "
      "that. A place where a rule cannot be decided is an offence, too. Several models make one report.");
  app.footer(
      "  fxtrace check model.pt2\n"
      "  fxtrace check model.pt2 --max-params 25M --max-macs 2G --deny 'aten.item.*'\n"
      "  fxtrace check model.pt2 --require 'torch.nn.Linear followed-by *.dequantize*' --sarif -o check.sarif\n");
  app.add_option("MODEL", arguments->models, "the model files or collections' JSON files, or - for stdin")
      ->required();
  const char* group = "Rules";
  const auto add_rule_option = [&](const char* name, const char* type, const std::string& help,
                                   const std::function<Rule(const std::string&)>& make) {
    return app
        .add_option_function<std::string>(
            name,
            [=, raw = arguments.get()](const std::string& text) {
              try {
                raw->rules.push_back(make(text));
              } catch (const Error& error) {
                throw usage_error(std::string(name) + ": " + error.what(), error.hints());
              }
            },
            help)
        ->type_name(type)
        ->group(group);
  };
  const auto add_limit = [&](const char* name, const char* type, RuleKind kind, const std::string& help) {
    add_rule_option(name, type, help, [kind](const std::string& text) {
      return limit_rule(kind, parse_amount(text));
    })->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  app.add_flag_callback(
         "--no-failed", [arguments = arguments.get()] { arguments->rules.push_back(no_failed_rule()); },
         "no module fails to trace")
      ->group(group);
  add_limit("--max-params", "N", RuleKind::kMaxParameters, "at most N parameters: 25000000, 25M");
  add_limit("--max-macs", "N", RuleKind::kMaxMacs,
            "at most N multiply-accumulates, whatever sizes the dimensions have: 2G, 1e9");
  add_limit("--max-activations", "SIZE", RuleKind::kMaxActivations,
            "at most SIZE bytes of results of all operations together: 25MiB, 25M");
  add_limit("--max-peak", "SIZE", RuleKind::kMaxPeak,
            "at most SIZE bytes of results at a time, each held until its last use");
  add_rule_option("--deny", "GLOB",
                  "no operator, and no module of a type, that matches: 'aten.item.*', Linear. Repeatable",
                  [](const std::string& text) { return deny_rule(text); })
      ->trigger_on_parse();
  add_value(app, group, "--ops", arguments->ops_files, "FILE",
            "no other operators than those in FILE, which has one operator or glob a line and comments "
            "behind #. Repeatable")
      ->allow_extra_args(false);
  add_value(app, group, "--backend", arguments->backends, "SET|FILE",
            "a backend takes every operator: a set of `fxtrace partition --list`, or a file as for --ops of "
            "fxtrace partition. Repeatable")
      ->allow_extra_args(false);
  add_rule_option(
      "--require", "RULE",
      "'X followed-by Y', 'X preceded-by Y', 'X within Y', each also with 'no' in front, 'no "
      "X', 'X at-most N', 'X at-least N', 'X has-constant ARGUMENT'; X and Y are globs over operators and types. "
      "Repeatable",
      [](const std::string& text) { return require_rule(text); })
      ->trigger_on_parse();
  add_value(
      app, group, "--rules", arguments->rule_files, "FILE",
      "rules from a JSON file (schemas/check_rules.schema.json), with names, messages and severities; or those that come "
      "with the program: " +
          joined(shipped_rules(), &ShippedRules::name) + ". Repeatable")
      ->allow_extra_args(false);
  app.add_flag(
         "--program", arguments->program,
         "the file of an exported program is valid, as far as that can be checked without running it: its "
         "signature, records, sizes, names, and the arguments and results of each operator")
      ->group(group);
  app.add_flag("--verify-content", arguments->verify_content,
               "the bytes of every record of the archive, and of archives in it, match their checksum there")
      ->group(group);
  app.add_flag("--security", arguments->security,
               "nothing in the file that makes a reader run code, write other files or use unlimited "
               "memory: pickles, machine code, paths, sizes, libraries")
      ->group(group);
  app.add_flag(
         "--programs-only", arguments->programs_only,
         "a file that holds no program, a state_dict for example, is checked by --security and "
         "--verify-content only, if these are given, and is not an error: for hooks that pass all files of a suffix")
      ->group(group);
  arguments->costs.add_to(app, group);
  group = "Known offences";
  const auto named = [](const std::string& file) -> std::string {
    return file.empty() ? "expected a file name" : "";
  };
  CLI::Option* baseline =
      add_last_value(
          app, group, "--baseline", arguments->baseline, "FILE",
          "offences in FILE are known and break no rule: only new ones do, and more of the same in a module")
          ->check(named);
  add_last_value(
      app, group, "--write-baseline", arguments->written_baseline, "FILE",
      "write all offences to FILE, a baseline to be committed. Offences of models that were not given and "
      "still exist stay in it")
      ->check(named)
      ->excludes(baseline);
  arguments->answer.add_to(app);
  arguments->add_to(app);
  return [arguments](Console& console) { return run_check(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
