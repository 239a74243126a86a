#include "trace/search/option_trials.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "graph/analysis/collection_summary.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "trace/options/input_spec.h"
#include "trace/options/option_table.h"

namespace fxtrace::internal {
namespace {

AddedOption make_input(const std::string& name, const std::string& spec) {
  return {"--input", name + "=" + spec, "input " + name};
}

// Replaces the letters of "float32[N,3,H,W]" by common sizes.
std::string with_numbers(const std::string& spec) {
  static const std::map<char, std::string> sizes = {{'N', "1"},  {'T', "16"},  {'L', "16000"},
                                                    {'D', "16"}, {'H', "224"}, {'W', "224"}};
  std::string result;
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const bool alone = i > 0 && i + 1 < spec.size() && (spec[i - 1] == '[' || spec[i - 1] == ',') &&
                       (spec[i + 1] == ']' || spec[i + 1] == ',');
    const auto size = sizes.find(spec[i]);
    result += alone && size != sizes.end() ? size->second : std::string(1, spec[i]);
  }
  return result;
}

// Returns a value for an input without a default, as JSON; empty when there is none to try.
std::string any_value(const InputGuess& input) {
  const std::string& type = input.type;
  if (type.starts_with("Optional[")) return "null";
  // A spec tells more than the place of a tensor in a structured value.
  if (!input.value.empty() && input.specs.empty()) return input.value;
  if (type == "bool") return "false";
  if (type == "int") return "1";
  if (type == "float") return "1.0";
  return "";
}

bool is_spoken_of(const std::string& name, const TraceOptions& options) {
  const auto same = [&](const auto& item) { return item.name == name || item.name.starts_with(name + "."); };
  if (std::ranges::any_of(options.concrete, same) || std::ranges::any_of(options.inputs, same)) return true;
  return options.input_names.has_value() &&
         std::ranges::find(*options.input_names, name) == options.input_names->end();
}

// Returns a range from `low` on for each named dimension without a range.
AddedOptions not_empty(const TraceOptions& options, std::int64_t low) {
  AddedOptions additions;
  for (const std::string& name : named_dimensions(options.inputs)) {
    if (std::ranges::find(options.dimensions, name, &DimensionRange::name) != options.dimensions.end())
      continue;
    additions.push_back({"--dim", name + "=" + std::to_string(low) + "..", "dim " + name});
  }
  return additions;
}

// Returns the limit that stopped the module; nothing when none did.
std::optional<Limit> limit_of(const ModuleRecord& module) {
  const bool is_stopped = module.failure && module.failure->kind == FailureKind::kLimit;
  return is_stopped ? std::optional(module.failure->limit) : std::nullopt;
}

// Returns the work of a trace in nodes, including nodes that were rolled back at a limit.
std::size_t work_of(const GraphCollection& collection, const Limits& limits) {
  std::size_t work = count_nodes_of_graphs(collection);
  for (const ModuleRecord& module : collection.modules) {
    const auto limit = limit_of(module);
    if (limit == Limit::kNodes) work += static_cast<std::size_t>(limits.nodes);
    if (limit == Limit::kIterations) work += static_cast<std::size_t>(limits.iterations);
  }
  return work;
}

}  // namespace

std::vector<std::string> option_texts(const AddedOptions& options) {
  std::vector<std::string> texts;
  for (const AddedOption& option : options)
    texts.push_back(option.name + (option.value.empty() ? "" : " " + shell_word(option.value)));
  return texts;
}

CandidateOptions candidate_options(const Program& program, const TraceOptions& options) {
  CandidateOptions candidates;
  if (options.defaults == Defaults::kNever) candidates.defaults = {{"--defaults", "needed", "defaults"}};
  if (!options.param_shapes_constant && !program.parameters().empty())
    candidates.param_shapes_constant = {{"--param-shapes-constant", "", "param_shapes_constant"}};
  // Most conditions on a size are decided once it is not 0, or neither 0 nor 1.
  for (const std::int64_t low : {1, 2}) candidates.not_empty.push_back(not_empty(options, low));
  if (options.control_flow == ControlFlow::kFail)
    candidates.control_flow = {{"--control-flow", "subgraph", "control_flow"}};
  struct Guess {
    std::string name, spec;
  };
  std::array<std::vector<Guess>, 2> guesses;  // by rank: the most likely one, the next
  for (const InputGuess& input : program.guess_inputs(options.method)) {
    if (is_spoken_of(input.name, options)) continue;
    const std::string value = input.has_default ? "" : any_value(input);
    if (!value.empty())
      candidates.values.push_back({"--concrete", input.name + "=" + value, "input " + input.name});
    const bool is_list = input.type == "List[Tensor]";
    const std::vector<std::string>& specs = input.specs.empty() ? input.possible : input.specs;
    if (specs.empty() || (input.type != "Tensor" && !is_list)) continue;
    const std::string name = is_list ? input.name + ".0" : input.name;
    for (std::size_t rank = 0; rank < guesses.size(); ++rank)
      guesses[rank].push_back({name, specs[std::min(rank, specs.size() - 1)]});
  }
  if (guesses[0].empty()) return candidates;
  const bool several = !std::ranges::equal(guesses[0], guesses[1], {}, &Guess::spec, &Guess::spec);
  for (const bool numbers : {false, true}) {
    for (std::size_t rank = 0; rank < (several ? 2U : 1U); ++rank) {
      AddedOptions& inputs = candidates.inputs.emplace_back();
      for (const Guess& guess : guesses[rank])
        inputs.push_back(make_input(guess.name, numbers ? with_numbers(guess.spec) : guess.spec));
    }
  }
  return candidates;
}

AddedOptions common_inputs(const Program& program, const TraceOptions& options) {
  AddedOptions inputs;
  for (const InputGuess& input : program.guess_inputs(options.method)) {
    if (input.has_default || is_spoken_of(input.name, options)) continue;
    if (input.type.find("Tensor") == std::string::npos) continue;
    if (input.specs.empty() || (input.type != "Tensor" && input.type != "List[Tensor]")) return {};
    const std::string name = input.type == "Tensor" ? input.name : input.name + ".0";
    inputs.push_back(make_input(name, with_numbers(input.specs.front())));
  }
  return inputs;
}

std::size_t count_nodes_of_graphs(const GraphCollection& collection) {
  std::size_t nodes = 0;
  for (const ModuleGraph& graph : collection.graphs) nodes += graph.graph.size();
  return nodes;
}

OptionTrials::OptionTrials(const FinishedTrace& trace, Bounds bounds) : trace_(trace), left_(bounds) {
  for (const ModuleRecord& module : trace.result.modules) {
    if (const auto limit = limit_of(module)) at_limit_.emplace(module.path, *limit);
  }
}

std::optional<GraphCollection> OptionTrials::trace_with(const AddedOptions& additions) {
  if (left_.traces == 0 || left_.nodes == 0) return std::nullopt;
  --left_.traces;
  constexpr std::int64_t kMaxIterations = 10'000;
  const Limits& given = trace_.options.limits;
  try {
    Config config{trace_.options};
    for (const AddedOption& addition : additions) set_option(addition.name, addition.value, config);
    TraceOptions& options = config.options;
    // The bounds of a trial do not apply when an addition changes the limits.
    if (options.limits == given) {
      options.limits.nodes = std::min(options.limits.nodes, static_cast<std::int64_t>(2 * kMaxTriedNodes));
      options.limits.iterations = std::min(options.limits.iterations, kMaxIterations);
    }
    GraphCollection collection = trace(trace_.program, options, false, trace_.spent).collection;
    left_.nodes -= std::min(left_.nodes, work_of(collection, options.limits));
    const bool at_new_limit = std::ranges::any_of(collection.modules, [&](const ModuleRecord& module) {
      const auto limit = limit_of(module);
      const auto known = at_limit_.find(module.path);
      return limit && (known == at_limit_.end() || known->second != *limit);
    });
    const bool is_bounded =
        options.limits.nodes < given.nodes || options.limits.iterations < given.iterations;
    if (is_bounded && at_new_limit) return std::nullopt;
    return collection;
  } catch (const Error&) {
    return std::nullopt;  // the guess does not fit the model
  }
}

namespace {

constexpr OptionTrials::Bounds kBounds{.traces = 16, .nodes = 200'000};

class Search {
 public:
  explicit Search(const FinishedTrace& trace)
      : candidates_(candidate_options(trace.program, trace.options)),
        trials_(trace, kBounds),
        failed_(count_failed(trace.result)) {}

  std::optional<Hint> run() {
    for (const AddedOptions& additions : sets()) {
      if (!additions.empty()) try_out(additions);
      if (failed_ == 0) break;
    }
    // Options about inputs and sizes did not settle everything.
    if (failed_ != 0 && !candidates_.control_flow.empty()) try_out(together(best_, candidates_.control_flow));
    if (best_.empty()) return std::nullopt;
    drop_needless();
    Hint hint;
    hint.failed = failed_;
    hint.options = option_texts(best_);
    hint.has_inputs = std::ranges::find(best_, "--input", &AddedOption::name) != best_.end();
    return hint;
  }

 private:
  static AddedOptions together(AddedOptions first, const AddedOptions& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  void try_out(const AddedOptions& additions) {
    const auto failed = count(additions);
    if (!failed || *failed >= failed_) return;
    failed_ = *failed;
    best_ = additions;
  }

  // Returns the sets of options to try, the simplest first.
  std::vector<AddedOptions> sets() const {
    const AddedOptions values = together(candidates_.defaults, candidates_.values);
    std::vector<AddedOptions> sets{candidates_.param_shapes_constant};
    sets.insert(sets.end(), candidates_.not_empty.begin(), candidates_.not_empty.end());
    sets.push_back(values);
    for (const AddedOptions& inputs : candidates_.inputs) {
      sets.push_back(inputs);
      if (!values.empty()) sets.push_back(together(inputs, values));
    }
    return sets;
  }

  // Returns the number of modules that fail with these options added; nothing when they cannot be tried.
  std::optional<std::size_t> count(const AddedOptions& additions) {
    const auto collection = trials_.trace_with(additions);
    return collection ? std::optional(count_failed(*collection)) : std::nullopt;
  }

  void drop_needless() {
    for (std::size_t i = best_.size(); i-- > 0 && best_.size() > 1;) {
      AddedOptions fewer = best_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      const auto failed = count(fewer);
      if (failed && *failed <= failed_) best_ = std::move(fewer);
    }
  }

  CandidateOptions candidates_;
  OptionTrials trials_;
  std::size_t failed_;  // the number of modules that fail with best_
  AddedOptions best_;
};

}  // namespace

std::optional<Hint> find_hint(const FinishedTrace& trace) {
  if (count_failed(trace.result) == 0 || count_nodes_of_graphs(trace.result) > kMaxTriedNodes)
    return std::nullopt;
  return Search(trace).run();
}

std::vector<std::string> guess_input_options(const Program& program, const TraceOptions& options) {
  return option_texts(common_inputs(program, options));
}

}  // namespace fxtrace::internal
