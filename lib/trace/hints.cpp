#include "trace/hints.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "graph/collection_summary.h"
#include "support/error.h"
#include "trace/config.h"
#include "trace/input_spec.h"

namespace fxtrace {
namespace {

constexpr std::size_t kMaxNodes = 20'000;  // of all graphs of the first trace
constexpr std::size_t kMaxTrials = 16;
constexpr std::size_t kMaxTrialNodes = 200'000;  // of all trials together
constexpr std::int64_t kMaxIterations = 10'000;

// One option that a trial adds.
struct Addition {
  std::string text;  // as on the command line
  std::function<void(TraceOptions&)> apply;
};
using Additions = std::vector<Addition>;

std::string shell_word(const std::string& text) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=.,:/";
  if (text.find_first_not_of(kSafe) == std::string::npos) return text;
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

Addition make_concrete(const std::string& name, const char* json) {
  const ConcreteArg concrete{name, parse_concrete(json, name)};
  return {"--concrete " + shell_word(name + "=" + json),
          [=](TraceOptions& options) { options.concrete.push_back(concrete); }};
}

Addition make_input(const std::string& name, const std::string& spec) {
  const InputSpec input = make_input_spec(name, spec);
  return {"--input " + shell_word(name + "=" + spec),
          [=](TraceOptions& options) { options.inputs.push_back(input); }};
}

// "float32[N,3,H,W]" with numbers that such models often have.
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

// A value for an input that has no default.
const char* any_value(const std::string& type) {
  if (type.starts_with("Optional[")) return "null";
  if (type == "bool") return "false";
  if (type == "int") return "1";
  if (type == "float") return "1.0";
  return nullptr;
}

bool is_spoken_of(const std::string& name, const TraceOptions& options) {
  const auto same = [&](const auto& item) { return item.name == name || item.name.starts_with(name + "."); };
  if (std::ranges::any_of(options.concrete, same) || std::ranges::any_of(options.inputs, same)) return true;
  return options.input_names.has_value() &&
         std::ranges::find(*options.input_names, name) == options.input_names->end();
}

class Search {
 public:
  Search(const Program& program, const TraceOptions& options, std::size_t failed)
      : program_(program), options_(options), failed_(failed) {}

  std::optional<Hint> run() {
    for (const Additions& additions : candidates()) {
      if (!additions.empty()) try_out(additions);
      if (failed_ == 0) break;
    }
    // What more is known of inputs does not settle.
    if (failed_ != 0 && options_.control_flow == ControlFlow::kFail) {
      Additions additions = best_;
      additions.push_back({"--control-flow subgraph",
                           [](TraceOptions& options) { options.control_flow = ControlFlow::kSubgraph; }});
      try_out(additions);
    }
    if (best_.empty()) return std::nullopt;
    drop_needless();
    Hint hint;
    hint.failed = failed_;
    for (const Addition& addition : best_) hint.options.push_back(addition.text);
    return hint;
  }

 private:
  void try_out(const Additions& additions) {
    const auto failed = count(additions);
    if (!failed || *failed >= failed_) return;
    failed_ = *failed;
    best_ = additions;
  }

  // Every set of options that is tried, from the simplest on.
  std::vector<Additions> candidates() const {
    Additions values;
    if (options_.defaults == Defaults::kNever) {
      values.push_back(
          {"--defaults needed", [](TraceOptions& options) { options.defaults = Defaults::kNeeded; }});
    }
    struct Guess {
      std::string name, spec;
    };
    std::array<std::vector<Guess>, 2> guesses;  // by which of several ranks
    for (const InputGuess& input : program_.guess_inputs(options_.method)) {
      if (is_spoken_of(input.name, options_)) continue;
      const char* value = input.has_default ? nullptr : any_value(input.type);
      if (value != nullptr) values.push_back(make_concrete(input.name, value));
      const bool is_list = input.type == "List[Tensor]";
      if (input.specs.empty() || (input.type != "Tensor" && !is_list)) continue;
      const std::string name = is_list ? input.name + ".0" : input.name;
      for (std::size_t rank = 0; rank < guesses.size(); ++rank) {
        guesses[rank].push_back({name, input.specs[std::min(rank, input.specs.size() - 1)]});
      }
    }
    std::vector<Additions> result;
    if (!options_.param_shapes_constant && !program_.parameters().empty()) {
      result.push_back(
          {{"--param-shapes-constant", [](TraceOptions& options) { options.param_shapes_constant = true; }}});
    }
    // Sizes of a batch that is not empty decide most questions of it.
    for (const std::int64_t low : {1, 2}) result.push_back(not_empty(low));
    result.push_back(values);
    const auto add = [&](const Additions& inputs) {
      if (inputs.empty()) return;
      result.push_back(inputs);
      if (values.empty()) return;
      result.push_back(inputs);
      result.back().insert(result.back().end(), values.begin(), values.end());
    };
    const auto inputs = [](const std::vector<Guess>& all, const auto& change) {
      Additions additions;
      for (const Guess& guess : all) additions.push_back(make_input(guess.name, change(guess.spec)));
      return additions;
    };
    const bool several = !std::ranges::equal(guesses[0], guesses[1], {}, &Guess::spec, &Guess::spec);
    for (std::size_t rank = 0; rank < (several ? 2U : 1U); ++rank)
      add(inputs(guesses[rank], std::identity()));
    for (std::size_t rank = 0; rank < (several ? 2U : 1U); ++rank) add(inputs(guesses[rank], with_numbers));
    return result;
  }

  // A range for each named dimension that no option gives one.
  Additions not_empty(std::int64_t low) const {
    Additions additions;
    for (const std::string& name : named_dimensions(options_.inputs)) {
      if (std::ranges::find(options_.dimensions, name, &DimensionRange::name) != options_.dimensions.end())
        continue;
      const DimensionRange range{name, low, std::nullopt};
      additions.push_back({"--dim " + shell_word(name + "=" + std::to_string(low) + ".."),
                           [=](TraceOptions& options) { options.dimensions.push_back(range); }});
    }
    return additions;
  }

  // How many modules fail with these options too; nothing when that cannot be tried.
  std::optional<std::size_t> count(const Additions& additions) {
    if (trials_ >= kMaxTrials || nodes_ >= kMaxTrialNodes) return std::nullopt;
    ++trials_;
    TraceOptions options = options_;
    for (const Addition& addition : additions) addition.apply(options);
    options.limits.nodes = std::min(options.limits.nodes, static_cast<std::int64_t>(2 * kMaxNodes));
    options.limits.iterations = std::min(options.limits.iterations, kMaxIterations);
    try {
      const GraphCollection collection = trace(program_, options).collection;
      for (const auto& graph : collection.graphs) nodes_ += graph.graph.size();
      return count_failed(collection);
    } catch (const Error&) {
      return std::nullopt;  // a guess that does not fit
    }
  }

  void drop_needless() {
    for (std::size_t i = best_.size(); i-- > 0 && best_.size() > 1;) {
      Additions fewer = best_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      const auto failed = count(fewer);
      if (failed && *failed <= failed_) best_ = std::move(fewer);
    }
  }

  const Program& program_;
  const TraceOptions& options_;
  std::size_t failed_;  // with the best so far
  Additions best_;
  std::size_t trials_ = 0;
  std::size_t nodes_ = 0;
};

}  // namespace

std::optional<Hint> find_hint(const Program& program, const TraceOptions& options,
                              const GraphCollection& result) {
  const std::size_t failed = count_failed(result);
  if (failed == 0) return std::nullopt;
  std::size_t nodes = 0;
  for (const auto& graph : result.graphs) nodes += graph.graph.size();
  if (nodes > kMaxNodes) return std::nullopt;
  return Search(program, options, failed).run();
}

std::vector<std::string> guess_input_options(const Program& program, const TraceOptions& options) {
  std::vector<std::string> texts;
  for (const InputGuess& input : program.guess_inputs(options.method)) {
    if (input.has_default || is_spoken_of(input.name, options)) continue;
    if (input.type.find("Tensor") == std::string::npos) continue;
    if (input.specs.empty() || (input.type != "Tensor" && input.type != "List[Tensor]")) return {};
    const std::string name = input.type == "Tensor" ? input.name : input.name + ".0";
    texts.push_back(make_input(name, with_numbers(input.specs.front())).text);
  }
  return texts;
}

}  // namespace fxtrace
