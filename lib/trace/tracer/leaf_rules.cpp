#include "trace/tracer/leaf_rules.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "operators/names/allow_lists.h"
#include "operators/names/modules.h"
#include "summaries/parameter_sizes.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"
#include "trace/options/option_json.h"
#include "trace/tracer/graph_tracer.h"

namespace fxtrace {

LeafRule::LeafRule(const std::string& rule, bool is_leaf) : text(rule), leaf(is_leaf) {  // NOLINT
  using internal::Glob;
  if (text.empty()) throw internal::usage_error("empty rule: expected TYPE, @PATH or TYPE@PATH");
  const std::size_t at = text.find('@');
  const std::string_view whole = text;
  if (at != 0) {
    const std::string_view type = whole.substr(0, at);
    const Glob check(type, whole, 0);
    type_glob = type;
  }
  if (at != std::string::npos) {
    if (at + 1 == text.size()) throw internal::usage_error("invalid rule '" + text + "': no path after '@'");
    const std::string_view path = whole.substr(at + 1);
    const Glob check(path, whole, at + 1);
    path_glob = path;
  }
}

}  // namespace fxtrace

namespace fxtrace::internal {
namespace {

// Bounds on the paths that are considered for one shared module; nested sharing multiplies them.
constexpr std::size_t kMaxPaths = 256;
constexpr int kMaxPathDepth = 500;
constexpr std::size_t kMaxSuggestions = 10;  // each looks at all modules or functions

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

// Returns torch.fx.Tracer.is_leaf_module(): the class is in torch.nn or torch.ao.nn and does not derive from
// torch.nn.Sequential.
bool is_default_leaf(const ModuleInfo& module) {
  if (module.path.empty() || !module.has_forward) return false;
  if (!is_torch_module(module.type)) return false;
  // The fused modules of quantization, before and in training, derive from Sequential.
  return module.type != "torch.nn.modules.container.Sequential" &&
         !starts_with_any(module.type,
                          {"torch.ao.nn.intrinsic.modules.fused.", "torch.ao.nn.intrinsic.qat.modules.",
                           "torch.nn.intrinsic.modules.fused.", "torch.nn.intrinsic.qat.modules."});
}

// --- facts about the modules of one program ---

class Modules {
 public:
  Modules(const Program& program, std::vector<BoundProgram::Attributes> told)
      : modules_(program.modules()),
        told_(std::move(told)),
        parameters_(program.parameters()),
        facts_(program),
        depths_(modules_.size(), 0) {
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      if (modules_[i].parent) depths_[i] = depths_[modules_[i].parent->index] + 1;
      if (modules_[i].alias_of)
        aliases_[*modules_[i].alias_of].push_back(ModuleId{static_cast<std::uint32_t>(i)});
    }
  }

  std::int64_t depth(std::size_t module) const { return depths_[module]; }
  // Returns the attribute from the file, or else as inferred from operations; null when neither has it.
  const Argument* find_attribute(std::size_t module, const std::string& name) const {
    const auto find = [&](const auto& attributes) -> const Argument* {
      const auto found = std::ranges::find(attributes, name, [](const auto& item) { return item.first; });
      return found != attributes.end() ? &found->second : nullptr;
    };
    const Argument* own = find(modules_[module].attributes);
    return own == nullptr && module < told_.size() ? find(told_[module]) : own;
  }

  // Calls f for every path of the module, beginning with the first one, until f returns true.
  template <class F>
  bool any_path(std::size_t module, F&& f) {
    if (f(modules_[module].path)) return true;
    if (aliases_.empty()) return false;
    const auto& paths = more_paths(ModuleId{static_cast<std::uint32_t>(module)}, 0);
    return std::any_of(paths.begin(), paths.end(), f);
  }

  // Returns the number of elements of the parameters (not buffers) of the module and its submodules, tied
  // ones counted once.
  std::int64_t parameter_elements(std::size_t module) const {
    std::int64_t total = 0;
    for (const std::size_t index : facts_.parameters_of(ModuleId{static_cast<std::uint32_t>(module)})) {
      if (__builtin_add_overflow(total, element_count(parameters_[index]), &total)) return INT64_MAX;
    }
    return total;
  }

 private:
  // Returns every path but the first: those of other occurrences of the module, and those through other paths
  // of its parent.
  const std::set<std::string>& more_paths(ModuleId module, int level) {
    const auto found = more_paths_.find(module);
    if (found != more_paths_.end()) return found->second;
    if (level > kMaxPathDepth) return none_;
    more_paths_[module];  // ends the recursion, should a module ever contain itself
    std::set<std::string> paths;
    std::vector<ModuleId> occurrences{module};
    const auto aliases = aliases_.find(module);
    if (aliases != aliases_.end())
      occurrences.insert(occurrences.end(), aliases->second.begin(), aliases->second.end());
    for (const ModuleId occurrence : occurrences) {
      const ModuleInfo& info = modules_[occurrence.index];
      if (occurrence != module) paths.insert(info.path);
      if (!info.parent || modules_[info.parent->index].path.empty()) continue;
      const std::string& parent = modules_[info.parent->index].path;
      if (info.path.size() <= parent.size()) continue;
      const std::string name = info.path.substr(parent.size());  // with its dot
      for (const std::string& other : more_paths(*info.parent, level + 1)) {
        if (paths.size() >= kMaxPaths) break;
        paths.insert(other + name);
      }
    }
    return more_paths_[module] = std::move(paths);
  }

  const std::vector<ModuleInfo>& modules_;
  std::vector<BoundProgram::Attributes> told_;  // by module, or none
  const std::vector<ParameterRecord>& parameters_;
  ModuleFacts facts_;
  std::vector<std::int64_t> depths_;
  std::map<ModuleId, std::vector<ModuleId>> aliases_;  // by first occurrence
  std::map<ModuleId, std::set<std::string>> more_paths_;
  const std::set<std::string> none_;
};

// One leaf rule with its parsed globs.  Models have many modules of few types, so each type is matched once.
class Matcher {
 public:
  explicit Matcher(const LeafRule& rule) : rule_(rule) {
    if (rule.type_glob) type_.emplace(*rule.type_glob);
    if (rule.path_glob) path_.emplace(*rule.path_glob);
  }

  const Glob* type() const { return type_ ? &type_->glob() : nullptr; }
  const Glob* path() const { return path_ ? &path_->glob() : nullptr; }

  // Decides for bare names whether they are whole names or last parts.
  void settle(const std::vector<ModuleInfo>& infos, Modules& modules) {
    const auto any_module = [&](const auto& matches) {
      for (std::size_t i = 0; i < infos.size(); ++i) {
        if (!infos[i].alias_of && matches(i)) return true;
      }
      return false;
    };
    if (type_ && type_->is_bare()) {
      type_->settle([&] {
        types_.clear();
        return any_module([&](std::size_t i) { return matches_type(infos[i].type); });
      });
      types_.clear();
    }
    if (path_ && path_->is_bare()) {
      path_->settle(
          [&] { return any_module([&](std::size_t i) { return matches_path(infos[i], i, modules); }); });
    }
  }

  bool matches(const ModuleInfo& info, std::size_t module, Modules& modules) {
    return matches_name(info, module, modules) &&
           std::ranges::all_of(rule_.where, [&](const Predicate& predicate) {
             return matches_predicate(predicate, module, modules);
           });
  }

  // Returns whether the globs match, without regard to predicates.
  bool matches_name(const ModuleInfo& info, std::size_t module, Modules& modules) {
    return (!type_ || matches_type(info.type)) && (!path_ || matches_path(info, module, modules));
  }

 private:
  bool matches_path(const ModuleInfo& info, std::size_t module, Modules& modules) const {
    return !info.path.empty() &&
           modules.any_path(module, [this](const std::string& path) { return path_->matches(path); });
  }
  bool matches_type(const std::string& type) {
    if (type.empty()) return false;
    const auto found = types_.find(type);
    if (found != types_.end()) return found->second;
    const bool result = type_->matches(type) || type_->matches(public_alias(type));
    types_.emplace(type, result);
    return result;
  }

  static bool matches_predicate(const Predicate& predicate, std::size_t module, Modules& modules) {
    if (predicate.attribute == "depth") return holds(predicate, Argument(modules.depth(module)));
    if (predicate.attribute == "parameters") {
      return holds(predicate, Argument(modules.parameter_elements(module)));
    }
    const Argument* actual = modules.find_attribute(module, predicate.attribute);
    return actual != nullptr && holds(predicate, *actual);
  }

  const LeafRule& rule_;
  std::optional<NamePattern> type_, path_;
  std::unordered_map<std::string, bool> types_;
};

// An index of rules by the literal prefixes of their globs, which finds the rules that may match a text.
// Trying every rule for every module would take time in the product of both.
class RulesByPrefix {
 public:
  void add(const std::string& prefix, std::size_t rule) {
    rules_[prefix].push_back(rule);
    lengths_.insert(prefix.size());
  }
  void find(std::string_view text, std::vector<std::size_t>& found) const {
    for (const std::size_t length : lengths_) {
      if (length > text.size()) return;
      const auto rules = rules_.find(std::string(text.substr(0, length)));
      if (rules != rules_.end()) found.insert(found.end(), rules->second.begin(), rules->second.end());
    }
  }

 private:
  std::unordered_map<std::string, std::vector<std::size_t>> rules_;
  std::set<std::size_t> lengths_;
};

class Candidates {
 public:
  explicit Candidates(const std::vector<Matcher>& matchers) {
    for (std::size_t rule = 0; rule < matchers.size(); ++rule) {
      if (const Glob* path = matchers[rule].path()) {
        by_path_.add(path->prefix(), rule);
      } else if (const Glob* type = matchers[rule].type()) {
        by_type_.add(type->prefix(), rule);
      } else {
        others_.push_back(rule);
      }
    }
  }
  // Returns the rules that may match the module, the last one first.
  const std::vector<std::size_t>& rules_for(const ModuleInfo& info, std::size_t module, Modules& modules) {
    found_ = others_;
    modules.any_path(module, [this](const std::string& path) {
      by_path_.find(path, found_);
      return false;
    });
    by_type_.find(info.type, found_);
    if (const std::string alias = public_alias(info.type); alias != info.type) by_type_.find(alias, found_);
    std::ranges::sort(found_, std::greater<>());
    const auto repeated = std::ranges::unique(found_);
    found_.erase(repeated.begin(), repeated.end());
    return found_;
  }

 private:
  RulesByPrefix by_path_, by_type_;
  std::vector<std::size_t> others_, found_;
};

Diagnostic unmatched_rule(const std::string& rule, const std::string& would) {
  Diagnostic unmatched{"rule {} matched nothing", {shell_quoted(rule)}};
  if (!would.empty()) unmatched.add("; {} would match", {shell_quoted(would)});
  return unmatched;
}

// Returns the rule that was most likely meant: the same name in any package or at any path, a path instead of
// a type or the other way round, or a name with a similar spelling.  Empty when there is none.
std::string suggest_rule(const LeafRule& rule, const std::vector<ModuleInfo>& infos, Modules& modules) {
  if (!rule.where.empty() || rule.type_glob.has_value() == rule.path_glob.has_value()) return "";
  const std::string name = rule.type_glob ? *rule.type_glob : *rule.path_glob;
  const auto matches = [&](const std::string& text) {
    const LeafRule candidate = LeafRule(text, rule.leaf);
    Matcher matcher(candidate);
    matcher.settle(infos, modules);
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (!infos[i].alias_of && matcher.matches(infos[i], i, modules)) return true;
    }
    return false;
  };
  std::vector<std::string> forms = {"**." + name, "@" + name, "@**." + name};
  if (rule.path_glob) forms = {"@**." + name, name, "**." + name};
  const auto form = std::ranges::find_if(forms, matches);
  if (form != forms.end()) return *form;

  std::vector<std::string> types;
  std::vector<std::string> paths;
  const bool dotted = name.find('.') != std::string::npos;
  for (const ModuleInfo& info : infos) {
    const std::string alias = public_alias(info.type);
    types.push_back(dotted ? alias : std::string(QualifiedName(alias).last()));
    if (!info.path.empty()) paths.push_back(info.path);
  }
  const std::string type = find_nearest(name, types);
  const std::string path = find_nearest(name, paths);
  const std::string& as_type = type;
  const std::string as_path = path.empty() ? path : "@" + path;
  const auto& [first, second] = rule.type_glob ? std::tie(as_type, as_path) : std::tie(as_path, as_type);
  return first.empty() ? second : first;
}

// Adds the attributes of predicates that are unknown for modules whose names the rule matches.
void add_missing(Diagnostic& unmatched, const LeafRule& rule, const std::vector<ModuleInfo>& infos,
                 Modules& modules) {
  Matcher matcher(rule);
  matcher.settle(infos, modules);
  std::vector<std::string> missing;
  std::size_t count = 0;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].alias_of || !matcher.matches_name(infos[i], i, modules)) continue;
    bool is_told = true;
    for (const Predicate& predicate : rule.where) {
      const std::string& name = predicate.attribute;
      if (name == "depth" || name == "parameters" || modules.find_attribute(i, name) != nullptr) continue;
      is_told = false;
      if (std::ranges::find(missing, name) == missing.end()) missing.push_back(name);
    }
    count += is_told ? 0 : 1;
  }
  if (count == 0) return;
  unmatched.add("; the file does not have " + listed(missing, " and ") + " of ");
  if (count == 1) {
    unmatched.add("the module");
  } else {
    unmatched.add("{} modules", {std::to_string(count)});
  }
  unmatched.add(" that its globs match");
}

}  // namespace

LeafRules::LeafRules(const TraceOptions& options, const Program& program, const ToldAttributes& told)
    : decisions_(program.modules().size()), default_wrap_(options.default_wrap) {
  std::vector<Matcher> matchers(options.leaf_rules.begin(), options.leaf_rules.end());
  for (const auto& rule : options.wrap_rules) {
    // Functions become known only when they are called, and their names have dots.
    const NamePattern pattern(rule.glob);
    function_rules_.push_back(
        {pattern.is_bare() ? Glob("**." + rule.glob) : pattern.glob(), rule.glob, rule.wrap});
  }
  function_rule_matched_.assign(function_rules_.size(), false);

  const bool asks = std::ranges::any_of(options.leaf_rules, [](const LeafRule& rule) {
    return std::ranges::any_of(rule.where, [](const Predicate& predicate) {
      return predicate.attribute != "depth" && predicate.attribute != "parameters";
    });
  });
  Modules modules(program, asks && told ? told() : std::vector<BoundProgram::Attributes>{});
  for (Matcher& matcher : matchers) matcher.settle(program.modules(), modules);
  Candidates candidates(matchers);
  std::vector<bool> matched(matchers.size(), false);
  const auto& infos = program.modules();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const ModuleInfo& info = infos[i];
    if (info.alias_of) continue;
    Decision& decision = decisions_[i];
    bool decided = false;
    // The last rule that matches decides.  The others are tried only until they have matched some module.
    for (const std::size_t r : candidates.rules_for(info, i, modules)) {
      if (decided && matched[r]) continue;
      if (!matchers[r].matches(info, i, modules)) continue;
      matched[r] = true;
      if (!decided) {
        decided = true;
        decision.leaf = options.leaf_rules[r].leaf;
        decision.rule = options.leaf_rules[r].text;
      }
    }
    if (!decided && options.default_leaves && is_default_leaf(info)) decision = {true, "default"};
    if (!decision.leaf && options.max_depth && info.has_forward && modules.depth(i) >= *options.max_depth) {
      decision = {true, "--max-depth " + std::to_string(*options.max_depth)};
    }
  }
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].alias_of) decisions_[i] = decisions_[infos[i].alias_of->index];
  }
  for (std::size_t r = 0; r < matchers.size(); ++r) {
    if (matched[r]) continue;
    const LeafRule& rule = options.leaf_rules[r];
    const bool suggest = unmatched_leaf_rules_.size() < kMaxSuggestions;
    unmatched_leaf_rules_.push_back(
        unmatched_rule(rule.text, suggest ? suggest_rule(rule, infos, modules) : ""));
    if (suggest) add_missing(unmatched_leaf_rules_.back(), rule, infos, modules);
  }
}

std::optional<std::string> LeafRules::rule(ModuleId module) const {
  const Decision& decision = decisions_[module.index];
  if (!decision.leaf) return std::nullopt;
  return decision.rule;
}

bool LeafRules::is_wrapped(std::string_view function) const {
  std::string name(function);
  const auto found = wrapped_.find(name);
  if (found != wrapped_.end()) return found->second;
  const bool wrapped = last_match(function).value_or(default_wrap_ && is_torch_function(function));
  wrapped_.emplace(std::move(name), wrapped);
  return wrapped;
}

bool LeafRules::keeps(std::string_view function) const {
  recorded_.emplace(function);
  return last_match(function).value_or(false);
}

std::optional<bool> LeafRules::last_match(std::string_view function) const {
  std::optional<bool> wrap;
  for (std::size_t i = 0; i < function_rules_.size(); ++i) {
    if (!function_rules_[i].glob.matches(function)) continue;
    wrap = function_rules_[i].wrap;
    function_rule_matched_[i] = true;
  }
  return wrap;
}

std::vector<Diagnostic> LeafRules::unmatched() const {
  std::vector<Diagnostic> rules = unmatched_leaf_rules_;
  std::vector<std::string> called;  // in no order that matters: sorted below
  for (const auto& [name, wrapped] : wrapped_) called.push_back(name);
  called.insert(called.end(), recorded_.begin(), recorded_.end());
  std::ranges::sort(called);
  std::size_t suggestions = 0;
  for (std::size_t i = 0; i < function_rules_.size(); ++i) {
    if (function_rule_matched_[i]) continue;
    if (functions_unknown_ && function_rules_[i].wrap) {
      if (std::ranges::find(rules, *functions_unknown_) == rules.end()) rules.push_back(*functions_unknown_);
      continue;
    }
    const std::string& text = function_rules_[i].text;
    if (++suggestions > kMaxSuggestions) {
      rules.push_back(unmatched_rule(text, ""));
      continue;
    }
    const std::string anywhere = "**." + text;
    const bool is_anywhere = std::ranges::any_of(
        called, [glob = Glob(anywhere)](const std::string& name) { return glob.matches(name); });
    rules.push_back(unmatched_rule(text, is_anywhere ? anywhere : find_nearest(text, called)));
  }
  return rules;
}

}  // namespace fxtrace::internal
