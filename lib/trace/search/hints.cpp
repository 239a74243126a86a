#include "trace/search/hints.h"

#include <cstddef>
#include <utility>

#include "graph/analysis/collection_summary.h"
#include "trace/search/option_trials.h"

namespace fxtrace {
namespace {

constexpr OptionTrials::Bounds kBounds{.traces = 16, .nodes = 200'000};

class Search {
 public:
  Search(const Program& program, const TraceOptions& options, const GraphCollection& result)
      : candidates_(candidate_options(program, options)),
        trials_(program, options, result, kBounds),
        failed_(count_failed(result)) {}

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
    TraceOptions added;
    for (const AddedOption& addition : best_) {
      hint.options.push_back(addition.text);
      addition.apply(added);
    }
    hint.has_inputs = !added.inputs.empty();
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

std::optional<Hint> find_hint(const Program& program, const TraceOptions& options,
                              const GraphCollection& result) {
  if (count_failed(result) == 0 || count_nodes_of_graphs(result) > kMaxTriedNodes) return std::nullopt;
  return Search(program, options, result).run();
}

std::vector<std::string> guess_input_options(const Program& program, const TraceOptions& options) {
  std::vector<std::string> texts;
  for (const AddedOption& input : common_inputs(program, options)) texts.push_back(input.text);
  return texts;
}

}  // namespace fxtrace
