#include "pipelines/answers/model_check.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "archive/content_check.h"
#include "exported/program/exported_archive.h"
#include "exported/verifier/program_verifier.h"
#include "partition/partition.h"
#include "pipelines/configs.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "security/security_scan.h"
#include "support/text/did_you_mean.h"
#include "support/text/words.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal {

bool is_about_safety(const Rule& rule) { return rule.kind == RuleKind::kSecurity; }
bool is_about_the_program(const Rule& rule) { return rule.kind == RuleKind::kProgram; }
bool is_about_the_file(const Rule& rule) {
  return is_about_safety(rule) || is_about_the_program(rule) || rule.kind == RuleKind::kVerifyContent;
}

namespace {

bool is_about_content(const Rule& rule) { return rule.kind == RuleKind::kVerifyContent; }

// Returns whether files of this kind hold no program: checkpoints, and pointers to files that were not
// downloaded.
bool holds_no_program(FileKind kind) {
  return kind == FileKind::kTorchSave || kind == FileKind::kPickle || kind == FileKind::kSafetensors ||
         kind == FileKind::kPointer;
}

// Returns the targets of the operators that options declare.
std::vector<std::string> declared_operators(const TraceOptions& options) {
  std::vector<std::string> targets;
  for (const auto* schemas : {&options.op_schemas, &options.registered.schemas}) {
    for (const std::string& schema : *schemas) {
      std::string target = schema.substr(0, schema.find('('));
      if (const std::size_t at = target.find("::"); at != std::string::npos) target.replace(at, 2, ".");
      targets.push_back(std::ranges::count(target, '.') == 1 ? target + ".default" : target);
    }
  }
  return targets;
}

// Returns the ranges of dimensions from options and guards.
ShapeEnv dimensions_of(const GraphCollection& collection, const TraceOptions& options) {
  ShapeEnv dimensions;
  for (const DimensionRange& range : options.dimensions)
    dimensions.narrow(range.name, {range.low, range.high});
  add_guards(collection, dimensions);
  return dimensions;
}

// Returns everything that the security checks find in the file and in its tensors.
std::vector<SecurityFinding> security_findings(const ModelFile& file, const FileInfo& info,
                                               const security::CheckpointShards* shards) {
  std::vector<SecurityFinding> findings = at_file(file, [&] { return scan_security(file, info, shards); });
  if (info.kind != FileKind::kExportedProgram) return findings;
  try {
    std::ranges::move(find_cut_tensors(info), std::back_inserter(findings));
  } catch (const Error& error) {
    findings.push_back({SecurityKind::kSize, "", "", error.what()});
  }
  return findings;
}

// Traces the model, or reads the collection.
void read_for_check(const CheckRequest& request, const Config& given, const FileInfo& info,
                    const NamedFile& file, bool is_needed, CheckedModel& model, Run& run) {
  const Config config = config_for_costs(given, info.kind);
  try {
    GraphCollection& collection = read_model_or_collection(config, request.has_trace_options, file, run);
    apply_costs(config, request.at, collection, run.listener());
    model.model = collection.model;
    model.collection = &collection;
    const bool is_saved = info.kind == FileKind::kText;
    model.dimensions =
        dimensions_of(collection, is_saved ? saved_options(collection).options : config.options);
  } catch (const Error& error) {
    if (is_needed || error.kind() == ErrorKind::kInternal) throw;
    if (error.kind() == ErrorKind::kInput) {
      model.findings.push_back({SecurityKind::kSize, "", "", error.what()});
    } else if (request.must_trace) {
      throw;
    }  // else the archive has several programs, and rules about the file need none of them
  }
}

// Finds what backends do not take, for the rules about them, in the operators of the functional graph.
void ask_backends(const std::vector<Rule>& rules, const Config& given, const FileInfo& info,
                  const NamedFile& file, CheckedModel& model, Run& run) {
  if (std::ranges::find(rules, RuleKind::kBackend, &Rule::kind) == rules.end()) return;
  const GraphCollection collection = operators_of(given, file, info, run);
  for (const Rule& rule : rules) {
    if (rule.kind != RuleKind::kBackend) continue;
    PartitionRequest request;
    request.sets.push_back(set_of(rule));
    for (BackendFinding& finding : findings_of(partition(collection, std::move(request)), rule.name))
      model.left.push_back(std::move(finding));
  }
}

}  // namespace

CheckReport check_model(const Config& given, CheckRequest request, const NamedFile& named, Run& run) {
  const ModelFile& file = named.file;
  std::vector<Rule>& rules = request.rules;
  const FileInfo info = identify_file(file);
  if (may_be_collection(file, info)) {
    if (request.has_default_rules) std::erase_if(rules, is_about_the_file);
    const auto refuse = [&](const char* option, bool (*is_about)(const Rule&)) {
      if (std::ranges::any_of(rules, is_about))
        throw usage_error(std::string(option) + " checks a model's file, but " + file.path() +
                          " is a collection");
    };
    refuse("--program", is_about_the_program);
    refuse("--verify-content", is_about_content);
  }
  if (request.is_for_programs && holds_no_program(info.kind)) {
    std::erase_if(rules, [](const Rule& rule) { return !is_about_safety(rule) && !is_about_content(rule); });
    run.listener().note(file.path() + " holds no program, so rules about programs are skipped: it is " +
                        info.what);
  }
  CheckedModel model;
  model.model.file = named.name;
  model.model.kind = to_string(info.kind);
  model.path = file.path();
  model.declared = declared_operators(given.options);
  const bool has_security = std::ranges::any_of(rules, is_about_safety);
  const bool has_content = std::ranges::any_of(rules, is_about_content);
  const bool has_others = !std::ranges::all_of(rules, is_about_the_file);
  if (has_content) model.content = at_file(file, [&] { return check_content(file, info); });
  if (std::ranges::any_of(rules, is_about_the_program)) {
    if (info.kind != FileKind::kExportedProgram)
      throw input_error("--program expects a torch.export program (.pt2), got " + info.what).at(file.path());
    model.faults = at_file(file, [&] { return verify_programs(info, {.contents = !has_content}); });
  }
  if (has_security) model.findings = security_findings(file, info, request.shards);
  if (has_others || (has_security && is_traceable(info.kind))) {
    read_for_check(request, given, info, named, has_others, model, run);
    ask_backends(rules, given, info, named, model, run);
  }
  if (model.collection != nullptr) check_strict(given, *model.collection, file, run);
  return check(std::move(rules), model);
}

void refuse_unknown_names(const CheckReports& reports) {
  const auto is_asked = [](const CheckReport& report) {
    return !std::ranges::all_of(report.rules, is_about_the_file);
  };
  const auto first = std::ranges::find_if(reports.models, is_asked);
  if (first == reports.models.end()) return;
  // The names of each model's report that are unknown there, with a mark for paths, by rule.
  std::vector<std::map<std::string_view, std::set<std::pair<std::string_view, bool>>>> all;
  for (const CheckReport& report : reports.models) {
    if (!is_asked(report)) continue;
    auto& names = all.emplace_back();
    for (const CheckReport::Unknown& one : report.unknown)
      names[report.rules[one.rule].name].emplace(one.name, one.is_path);
  }
  for (const CheckReport::Unknown& unknown : first->unknown) {
    const std::string& rule = first->rules[unknown.rule].name;
    const bool is_nowhere = std::ranges::all_of(all, [&](const auto& names) {
      const auto of_rule = names.find(rule);
      return of_rule != names.end() && of_rule->second.contains({unknown.name, unknown.is_path});
    });
    if (!is_nowhere) continue;
    std::vector<std::string> hints, nearest;
    std::ranges::transform(unknown.nearest, std::back_inserter(nearest), shell_quoted);
    if (!nearest.empty()) hints.push_back("did you mean " + listed(nearest, " or ") + "?");
    if (!unknown.is_path) hints.emplace_back("--op-schema declares an operator of a library");
    throw usage_error("the rule " + shell_quoted(rule) + " matches nothing: " + shell_quoted(unknown.name) +
                          (unknown.is_path ? " is not the path of a module of "
                                           : " is not an operator, function or type of ") +
                          (reports.models.size() == 1 ? "the model" : "the models") +
                          (unknown.is_path ? "" : ", nor a known one"),
                      hints);
  }
}

}  // namespace fxtrace::internal
