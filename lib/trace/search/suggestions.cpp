// The search for options (SuggestionSearch) goes in these steps.  Each set of options is traced at most once,
// and OptionTrials bounds the work of all traces.
//   1. Every candidate group is tried alone.  Groups that help are reduced to the options that they need.
//   2. Each guess of the inputs is tried with all other options together, without last resorts (--hooks skip,
//      --flat).
//   3. Groups are added to the best set as long as failures get fewer.
//   4. The best set is reduced, and all smaller sets are tried.
//   5. Modules that still fail are made leaves on purpose, by rules for exactly these modules.
#include "trace/search/suggestions.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/analysis/collection_summary.h"
#include "support/text/glob.h"
#include "support/text/identifier.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "trace/options/option_table.h"
#include "trace/search/option_trials.h"

namespace fxtrace::internal {
namespace {

constexpr OptionTrials::Bounds kAllTrials{.traces = 80, .nodes = 200'000};
constexpr std::size_t kMaxLeafRules = 20;

std::vector<std::string> failed_paths(const GraphCollection& collection) {
  std::vector<std::string> paths;
  for (const ModuleRecord& module : collection.modules) {
    if (module.status == ModuleStatus::kFailed && !module.alias_of) paths.push_back(module.path);
  }
  return paths;
}

DimensionExplanation::Counts counts_of(const GraphCollection& collection) {
  DimensionExplanation::Counts counts;
  counts.nodes = static_cast<std::int64_t>(count_nodes_of_graphs(collection));
  for (const ModuleGraph& graph : collection.graphs)
    counts.guards += static_cast<std::int64_t>(graph.guards.size());
  counts.failed = static_cast<std::int64_t>(count_failed(collection));
  return counts;
}

// --- modules as leaves on purpose ---

// Returns a glob for a path, with "*" for the parts that `is_star` marks and "?" for characters that cannot
// be printed.
std::string path_glob(std::string_view path, const std::vector<bool>& is_star) {
  std::string glob;
  const auto parts = QualifiedName(path).parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) glob += '.';
    if (i < is_star.size() && is_star[i]) {
      glob += '*';
      continue;
    }
    for (std::string_view rest = parts[i]; !rest.empty();) {
      const Utf8Character character = first_character(rest);
      const std::string_view bytes = rest.substr(0, character.length);
      rest.remove_prefix(character.length);
      if (is_unprintable(code_point(character.bytes)) || bytes != character.bytes) {
        glob += '?';
      } else if (bytes == "*" || bytes == "?" || bytes == "[") {
        glob += '[' + std::string(bytes) + ']';
      } else {
        glob += bytes;
      }
    }
  }
  return glob;
}

// Returns rules that make leaves of the outermost of these modules and of no other; absent when that takes
// too many rules.  The root is left out, because no path glob matches it.
std::optional<AddedOptions> leaf_rules_for(const Program& program, const std::set<std::string>& failed) {
  std::vector<std::string_view> outermost;
  for (const ModuleInfo& module : program.modules()) {
    const std::string& path = module.path;
    if (path.empty() || failed.count(path) == 0) continue;
    if (outermost.empty() || !QualifiedName(path).is_below(outermost.back())) outermost.emplace_back(path);
  }
  const std::unordered_set<std::string_view> wanted(outermost.begin(), outermost.end());
  std::vector<std::vector<std::string_view>> alike;
  std::unordered_map<std::string, std::size_t> places;
  for (const std::string_view path : outermost) {
    const auto [entry, is_new] = places.try_emplace(without_numbers(path), alike.size());
    if (is_new) alike.emplace_back();
    alike[entry->second].push_back(path);
  }
  std::vector<std::string> rules;
  const auto matches_only_wanted = [&](const std::string& glob) {
    const Glob pattern(glob);
    return std::ranges::all_of(program.modules(), [&](const ModuleInfo& module) {
      return module.alias_of || module.path.empty() || !module.has_forward ||
             wanted.count(module.path) != 0 || !pattern.matches(module.path);
    });
  };
  for (const auto& paths : alike) {
    if (paths.size() > 1 && rules.size() <= kMaxLeafRules) {
      const auto first = QualifiedName(paths.front()).parts();
      std::vector<bool> is_star(first.size(), false);
      for (const std::string_view path : paths) {
        const auto parts = QualifiedName(path).parts();
        for (std::size_t i = 0; i < std::min(parts.size(), first.size()); ++i)
          is_star[i] = is_star[i] || parts[i] != first[i];
      }
      std::string glob = path_glob(paths.front(), is_star);
      const Glob pattern(glob);
      const auto matches = [&](std::string_view path) { return pattern.matches(path); };
      if (std::ranges::all_of(paths, matches) && matches_only_wanted(glob)) {
        rules.push_back("@" + std::move(glob));
        continue;
      }
    }
    for (const std::string_view path : paths) {
      rules.push_back("@" + path_glob(path, {}));
      if (rules.size() > kMaxLeafRules) return std::nullopt;
    }
  }
  AddedOptions options;
  for (const std::string& rule : rules) options.push_back({"--leaf", rule, "leaf " + rule});
  return options;
}

// --- sets of options ---

class SuggestionSearch {
 public:
  explicit SuggestionSearch(const FinishedTrace& trace)
      : trace_(trace), trials_(trace, kAllTrials), base_(failed_paths(trace.result)) {
    outcomes_[{}] = Outcome{base_, count_nodes_of_graphs(trace.result)};
    add_candidates();
  }

  Suggestions run() {
    Suggestions suggestions;
    suggestions.is_tried = true;
    try_alone(suggestions);
    try_together();
    if (!best_.empty()) suggestions.best = trial(best_);
    suggestions.with_leaves = with_leaves();
    return suggestions;
  }

 private:
  using Set = std::vector<std::size_t>;  // indices in atoms_, ascending
  struct Outcome {
    std::vector<std::string> failed;
    std::size_t nodes = 0;
  };

  // Adds the candidates in the order of preference among options that leave as many failures.
  void add_candidates() {
    CandidateOptions candidates = candidate_options(trace_.program, trace_.options);
    add(std::move(candidates.param_shapes_constant));
    add(std::move(candidates.defaults));
    for (AddedOptions& ranges : candidates.not_empty) add(std::move(ranges));
    for (AddedOptions& inputs : candidates.inputs) {
      add(std::move(inputs));
      input_groups_.push_back(groups_.back());
    }
    add(std::move(candidates.control_flow));
    add(std::move(candidates.values));
    add_limits();
    last_resorts_ = groups_.size();
    if (trace_.options.hooks == Hooks::kRun) add({{"--hooks", "skip", "hooks"}});
    if (trace_.options.default_leaves) add({{"--flat", "", "default_leaves"}});
  }

  void add(AddedOptions options) {
    if (options.empty()) return;
    Set group;
    for (AddedOption& option : options) {
      group.push_back(atoms_.size());
      atoms_.push_back(std::move(option));
    }
    groups_.push_back(std::move(group));
  }

  // Adds limits of ten times those that were reached.
  void add_limits() {
    for (const OptionRow& row : option_table()) {
      const bool is_reached = std::ranges::any_of(trace_.result.modules, [&](const ModuleRecord& module) {
        return row.limit != Limit::kOther && module.failure && module.failure->limit == row.limit;
      });
      if (!is_reached) continue;
      constexpr std::int64_t kMost = 1'000'000;
      const std::int64_t limit = std::stoll(texts_of(row, {.options = trace_.options}).front());
      const std::int64_t more = std::min(limit, kMost / 10) * 10;
      if (more > limit) add({{row.name, std::to_string(more), row.name}});
    }
  }

  AddedOptions options_of(const Set& set) const {
    AddedOptions options;
    for (const std::size_t atom : set) options.push_back(atoms_[atom]);
    return options;
  }

  // Returns the union; absent when two options in it are about the same subject.
  std::optional<Set> together(const Set& first, const Set& second) const {
    Set set;
    std::ranges::set_union(first, second, std::back_inserter(set));
    std::set<std::string_view> abouts;
    for (const std::size_t atom : set) {
      if (!abouts.insert(atoms_[atom].about).second) return std::nullopt;
    }
    return set;
  }

  std::set<std::string_view> abouts_of(const Set& set) const {
    std::set<std::string_view> abouts;
    for (const std::size_t atom : set) abouts.insert(atoms_[atom].about);
    return abouts;
  }

  // Returns null when the set cannot be tried, or the work is used up.
  const Outcome* try_out(const Set& set) {
    const auto known = outcomes_.find(set);
    if (known != outcomes_.end()) return known->second ? &*known->second : nullptr;
    std::optional<Outcome>& outcome = outcomes_[set];
    if (const auto collection = trials_.trace_with(options_of(set)))
      outcome = Outcome{failed_paths(*collection), count_nodes_of_graphs(*collection)};
    return outcome ? &*outcome : nullptr;
  }

  Trial trial(const Set& set) {
    const Outcome& outcome = *outcomes_.at(set);
    return {option_texts(options_of(set)), outcome.failed, outcome.nodes};
  }

  // Makes the set the best one if it leaves fewer failures, or as many with fewer options; returns whether it
  // did.
  bool consider(const Set& set) {
    const Outcome* outcome = try_out(set);
    if (outcome == nullptr) return false;
    const std::size_t failed = outcome->failed.size(), least = outcomes_.at(best_)->failed.size();
    if (failed > least || (failed == least && set.size() >= best_.size())) return false;
    best_ = set;
    return true;
  }

  // Removes options that do not reduce the number of failures.
  Set reduced(Set set) {
    constexpr std::size_t kMost = 12;
    if (set.size() > kMost) return set;
    const std::size_t failed = outcomes_.at(set)->failed.size();
    for (std::size_t i = set.size(); i-- > 0 && set.size() > 1;) {
      Set fewer = set;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      const Outcome* outcome = try_out(fewer);
      if (outcome != nullptr && outcome->failed.size() <= failed) set = std::move(fewer);
    }
    return set;
  }

  void try_alone(Suggestions& suggestions) {
    // For each set of subjects, the first group that leaves the fewest failures; `others` has those that do
    // not help.
    std::map<std::set<std::string_view>, Set> helpful, others;
    std::vector<std::set<std::string_view>> order;
    for (const Set& group : groups_) {
      const Outcome* outcome = try_out(group);
      if (outcome == nullptr) continue;
      const auto abouts = abouts_of(group);
      const bool helps = outcome->failed.size() < base_.size();
      auto& sets = helps ? helpful : others;
      const auto [known, is_new] = sets.emplace(abouts, group);
      if (is_new) order.push_back(abouts);
      if (helps && outcome->failed.size() < outcomes_.at(known->second)->failed.size()) known->second = group;
      if (outcome->failed.size() < outcomes_.at(best_)->failed.size()) best_ = group;
    }
    for (const auto& abouts : order) {
      if (const auto found = helpful.find(abouts); found != helpful.end()) {
        const Set set = reduced(found->second);
        consider(set);
        Trial helps = trial(set);
        const auto count = [](const Trial& one) { return one.failed.size(); };
        auto& trials = suggestions.helpful;
        trials.insert(std::ranges::upper_bound(trials, count(helps), {}, count), std::move(helps));
        helpful.erase(found);
        others.erase(abouts);
      } else if (const auto other = others.find(abouts); other != others.end()) {
        suggestions.others.push_back(option_texts(options_of(other->second)));
        others.erase(other);
      }
    }
  }

  void try_together() {
    // Each guess of the inputs is tried with all options that can be combined with it, without last resorts.
    for (const Set& inputs : input_groups_.empty() ? std::vector<Set>{{}} : input_groups_) {
      if (least() == 0) break;
      Set all = inputs;
      for (std::size_t group = 0; group < last_resorts_; ++group) {
        if (auto more = together(all, groups_[group])) all = std::move(*more);
      }
      if (all.size() > 1) consider(all);
    }
    for (bool improves = true; improves && least() > 0;) {
      improves = false;
      for (const Set& group : groups_) {
        const auto more = together(best_, group);
        const Outcome* outcome = more ? try_out(*more) : nullptr;
        if (outcome == nullptr || outcome->failed.size() >= least()) continue;
        best_ = *more;
        improves = true;
      }
    }
    best_ = reduced(best_);
    find_smaller();
  }

  std::size_t least() const { return outcomes_.at(best_)->failed.size(); }

  // Tries all smaller sets of options, as far as the bound on the work allows.
  void find_smaller() {
    for (std::size_t size = 1; size < best_.size(); ++size) {
      Set set;
      if (find_of_size(size, 0, set)) return;
    }
  }

  // Extends the set to `size` options; returns true when a set leaves as few failures as the best.
  bool find_of_size(std::size_t size, std::size_t from, const Set& set) {
    if (set.size() == size) {
      const Outcome* outcome = try_out(set);
      if (outcome == nullptr || outcome->failed.size() > least()) return false;
      best_ = set;
      return true;
    }
    if (++steps_ > kMaxSteps) return false;
    for (std::size_t atom = from; atom < atoms_.size(); ++atom) {
      const auto more = together(set, {atom});
      if (more && find_of_size(size, atom + 1, *more)) return true;
    }
    return false;
  }

  std::optional<Trial> with_leaves() {
    std::vector<std::string> failed = outcomes_.at(best_)->failed;
    std::set<std::string> leaves;
    OptionTrials trials(trace_, {.traces = 3, .nodes = kAllTrials.nodes});
    std::optional<Trial> found;
    // With a leaf, the code around it goes on and may fail at a place that was not reached before.
    while (std::ranges::any_of(failed, [](const std::string& path) { return !path.empty(); })) {
      const std::size_t known = leaves.size();
      leaves.insert(failed.begin(), failed.end());
      if (leaves.size() == known) break;
      const auto rules = leaf_rules_for(trace_.program, leaves);
      if (!rules) break;
      AddedOptions options = options_of(best_);
      options.insert(options.end(), rules->begin(), rules->end());
      const auto collection = trials.trace_with(options);
      if (!collection) break;
      failed = failed_paths(*collection);
      if (failed.size() < least())
        found = Trial{option_texts(options), failed, count_nodes_of_graphs(*collection)};
    }
    return found;
  }

  static constexpr std::size_t kMaxSteps = 100'000;

  FinishedTrace trace_;
  OptionTrials trials_;
  std::vector<std::string> base_;
  std::vector<AddedOption> atoms_;
  std::vector<Set> groups_;  // options that are tried as one
  std::vector<Set> input_groups_;
  std::size_t last_resorts_ = 0;  // index of the first group that changes the scope of the trace
  std::map<Set, std::optional<Outcome>> outcomes_;
  Set best_;
  std::size_t steps_ = 0;
};

// Returns the input that a guard is about: "mask" for "mask is None".
std::string_view first_name(std::string_view guard) {
  std::size_t end = 0;
  while (end < guard.size() && is_word(guard[end])) ++end;
  return guard.substr(0, end);
}

// Adds the guards from the line of the condition around a call.  Guards of inputs with their defaults have no
// line, so those of the caller's graph are added whose input the condition names.
void add_guards(const GraphCollection& result, std::vector<ModuleExplanation>& explanations) {
  constexpr std::size_t kMostGuards = 1000;
  std::map<std::pair<std::string_view, std::int64_t>, std::vector<const Guard*>> by_line;
  std::map<std::string_view, std::vector<const Guard*>> by_graph;  // guards without a source
  std::size_t left = kMostGuards;
  for (const ModuleGraph& graph : result.graphs) {
    for (const Guard& guard : graph.guards) {
      if (guard.source) {
        by_line[{guard.source->file, guard.source->line}].push_back(&guard);
      } else if (left > 0) {
        --left;
        by_graph[graph.module].push_back(&guard);
      }
    }
  }
  for (ModuleExplanation& explanation : explanations) {
    const auto add = [&](const Guard& guard) {
      const auto same = [&](const Guard& known) { return known.expr == guard.expr; };
      constexpr std::size_t kMost = 20;
      if (explanation.guards.size() < kMost && std::ranges::none_of(explanation.guards, same))
        explanation.guards.push_back(guard);
    };
    for (const CallSite& site : explanation.call_sites) {
      if (!site.condition) continue;
      if (const auto here = by_line.find({site.condition->file, site.condition->line});
          here != by_line.end()) {
        for (const Guard* guard : here->second) add(*guard);
      }
      if (const auto graph = by_graph.find(site.module); graph != by_graph.end()) {
        for (const Guard* guard : graph->second) {
          const std::string text = guard->expr.text();
          const std::string_view input = first_name(text);
          if (!input.empty() && has_identifier(site.condition->text, input)) add(*guard);
        }
      }
    }
  }
}

// Returns the paths of modules with a submodule, at any depth, that was called.
std::unordered_set<std::string_view> paths_around_visited(const GraphCollection& collection) {
  std::unordered_set<std::string_view> paths;
  for (const ModuleRecord& module : collection.modules) {
    if (module.status == ModuleStatus::kUnvisited || module.path.empty()) continue;
    std::string_view path = QualifiedName(module.path).parent();
    while (paths.insert(path).second && !path.empty()) path = QualifiedName(path).parent();
  }
  return paths;
}

}  // namespace

Suggestions find_suggestions(const FinishedTrace& trace) {
  Suggestions suggestions;
  if (count_failed(trace.result) > 0 && count_nodes_of_graphs(trace.result) <= kMaxTriedNodes)
    suggestions = SuggestionSearch(trace).run();
  std::set<std::string_view> told;
  for (const ModuleRecord& module : trace.result.modules) {
    if (!module.failure || module.failure->kind != FailureKind::kUnsupportedOp) continue;
    if (!told.insert(module.failure->op).second) continue;
    std::string schema = trace.program.schema_of_calls(module.failure->op);
    if (!schema.empty()) suggestions.operators.push_back({module.failure->op, std::move(schema)});
  }
  return suggestions;
}

void explain_calls(const Program& program, const GraphCollection& result,
                   std::vector<ModuleExplanation>& explanations) {
  std::unordered_map<std::string_view, ModuleId> by_path;
  const auto& modules = program.modules();
  for (std::uint32_t i = 0; i < modules.size(); ++i) by_path.emplace(modules[i].path, ModuleId{i});
  const auto around_visited = paths_around_visited(result);
  std::unordered_map<std::uint32_t, ModuleExplanation*> wanted;
  std::vector<ModuleId> ids;
  for (ModuleExplanation& explanation : explanations) {
    const auto found = by_path.find(explanation.path);
    if (found == by_path.end()) continue;
    const ModuleInfo& info = modules[found->second.index];
    const bool is_unvisited = explanation.status == ModuleStatus::kUnvisited;
    // torch.jit.trace and torch.export also leave out the forward of modules that were not called.
    if (is_unvisited && !info.has_forward && around_visited.contains(explanation.path)) {
      explanation.cause = ModuleCause::kContainer;
      explanation.decided_by = explanation.rule = std::nullopt;
      explanation.failure = std::nullopt;
    }
    const bool is_called = explanation.cause != ModuleCause::kNotCalled &&
                           (explanation.calls > 0 || explanation.methods.empty());
    if (is_called || info.alias_of) continue;
    wanted.emplace(found->second.index, &explanation);
    ids.push_back(found->second);
  }
  if (ids.empty()) return;
  for (const ModuleCall& call : program.find_calls(ids, result.model.method)) {
    ModuleExplanation& explanation = *wanted.at(call.called.index);
    constexpr std::size_t kMostCalls = 100;
    if (explanation.call_sites.size() == kMostCalls) continue;
    explanation.call_sites.push_back({modules[call.caller.index].path, call.method, call.entered, call.source,
                                      call.condition, call.is_in_loop, call.is_run});
  }
  add_guards(result, explanations);
}

void try_ranges(const FinishedTrace& trace, DimensionExplanation& explanation) {
  explanation.all = counts_of(trace.result);
  if (count_nodes_of_graphs(trace.result) > kMaxTriedNodes) return;
  OptionTrials trials(trace, {.traces = 6, .nodes = 10 * kMaxTriedNodes});
  const std::int64_t low = std::max<std::int64_t>(explanation.range.low.value_or(0), 0);
  const auto fits = [&](std::int64_t number) {
    return number >= low && (!explanation.range.high || number <= *explanation.range.high);
  };
  const std::string& name = explanation.name;
  std::vector<std::string> ranges;
  // Most conditions are decided once the size is not 0, or neither 0 nor 1.
  if (low < 1 && fits(1)) ranges.emplace_back("1..");
  if (low < 2 && fits(2)) ranges.emplace_back("2..");
  for (const std::int64_t number : {std::max<std::int64_t>(low, 2), std::max<std::int64_t>(low, 8)}) {
    if (fits(number) && explanation.range != Range{number, number}) ranges.push_back(std::to_string(number));
  }
  std::set<std::string> tried;
  for (const std::string& text : ranges) {
    if (!tried.insert(text).second) continue;
    const AddedOptions narrowed{{"--dim", name + "=" + text, "dim"}};
    const auto collection = trials.trace_with(narrowed);
    if (!collection) continue;
    const DimensionExplanation::Counts counts = counts_of(*collection);
    // A fixed size is one node less, which tells nothing.
    const bool is_telling = counts.guards != explanation.all.guards ||
                            counts.failed != explanation.all.failed ||
                            std::abs(counts.nodes - explanation.all.nodes) > 1;
    if (is_telling) explanation.narrowed.push_back({option_texts(narrowed).front(), counts});
  }
}

}  // namespace fxtrace::internal
