#include "trace/search/hints.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "graph/analysis/collection_summary.h"
#include "trace/search/option_trials.h"

namespace fxtrace::internal {
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
