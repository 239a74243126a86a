#include "exported/modules/schedule.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace fxtrace::internal {
namespace {

// The number of steps in all windows together; beyond it, calls stay split where they are.
constexpr std::size_t kMaxWork = 20'000'000;

class Scheduler {
 public:
  explicit Scheduler(const ProgramView& graph)
      : graph_(graph), effects_(graph.graph().id_count()), mark_(graph.graph().id_count(), 0) {}

  std::vector<Step> run(const std::function<std::optional<CallId>(NodeId)>& leaf_of) {
    std::vector<CallId> scattered;
    for (const NodeId operation : graph_.operations()) {
      effects_[operation.index] = effect_of(graph_, operation);
      const auto leaf = leaf_of(operation);
      if (leaf && !steps_.empty() && steps_.back().leaf == leaf) {
        steps_.back().operations.push_back(operation);
        continue;
      }
      if (leaf) {
        const auto [place, is_new] = places_.emplace(*leaf, Place{steps_.size(), steps_.size(), false});
        place->second.last = steps_.size();
        if (!is_new && !std::exchange(place->second.scattered, true)) scattered.push_back(*leaf);
      }
      steps_.push_back({leaf, {operation}});
      free_.push_back(!graph_.facts(operation).has_stack);
    }
    // Each gathering keeps the steps in a valid order, and only moves them between its first and last step.
    for (const CallId call : scattered) {
      const Place place = places_.at(call);
      work_ += place.last + 1 - place.first;
      if (work_ <= kMaxWork) gather(call, place.first, place.last + 1);
    }
    std::vector<Step> result;
    result.reserve(steps_.size());
    for (Step& step : steps_) {
      if (step.operations.empty()) continue;
      // Whatever moved around it, a call's own operations run in program order.
      std::sort(step.operations.begin(), step.operations.end());
      result.push_back(std::move(step));
    }
    return result;
  }

 private:
  Effect effect(const Step& step) const {
    Effect result = Effect::kSymbolic;
    for (const NodeId operation : step.operations) result = std::max(result, effects_[operation.index]);
    return result;
  }

  static bool commute(Effect a, Effect b) {
    if (a == Effect::kSymbolic || b == Effect::kSymbolic) return true;
    if (a == Effect::kWrites || b == Effect::kWrites) return false;
    return a == Effect::kPure || b == Effect::kPure;
  }

  bool uses(const Step& step, std::uint32_t mark) const {
    bool found = false;
    for (const NodeId operation : step.operations) {
      for_each_input(graph_.node(operation),
                     [&](NodeId value) { found = found || mark_[value.index] == mark; });
    }
    return found;
  }
  void mark_made(const Step& step, std::uint32_t mark) {
    for (const NodeId operation : step.operations)
      graph_.for_each_result(operation, [&](NodeId value) { mark_[value.index] = mark; });
  }

  // Gathers the steps of `call` in [begin, end); see schedule.h.
  void gather(CallId call, std::size_t begin, std::size_t end) {
    std::vector<Step> ordered;  // the steps whose order is settled
    std::vector<bool> ordered_free;
    std::vector<std::size_t> later;  // steps that go behind the call
    Step part{call, {}};
    Effect part_effect = Effect::kSymbolic;
    Effect later_effect = Effect::kSymbolic;
    std::uint32_t part_mark = ++last_mark_;
    std::uint32_t later_mark = ++last_mark_;

    const auto settle = [&] {
      if (!part.operations.empty()) {
        ordered.push_back(std::move(part));
        ordered_free.push_back(false);
      }
      for (const std::size_t at : later) {
        ordered.push_back(std::move(steps_[at]));
        ordered_free.push_back(free_[at]);
      }
      later.clear();
      part = {call, {}};
      part_effect = later_effect = Effect::kSymbolic;
      part_mark = ++last_mark_;
      later_mark = ++last_mark_;
    };
    const auto take = [&](Step& step, Effect step_effect) {
      mark_made(step, part_mark);
      part.operations.insert(part.operations.end(), step.operations.begin(), step.operations.end());
      part_effect = std::max(part_effect, step_effect);
    };

    for (std::size_t at = begin; at < end; ++at) {
      Step& step = steps_[at];
      if (step.operations.empty()) continue;
      const Effect step_effect = effect(step);
      const bool needs_later = uses(step, later_mark);
      if (step.leaf == call) {
        if (needs_later || !commute(step_effect, later_effect)) settle();
        take(step, step_effect);
        continue;
      }
      const bool needs_part = uses(step, part_mark);
      if (free_[at] && needs_part && !needs_later && commute(step_effect, later_effect)) {
        take(step, step_effect);
      } else if (!needs_part && !needs_later && commute(step_effect, part_effect) &&
                 commute(step_effect, later_effect)) {
        ordered.push_back(std::move(step));
        ordered_free.push_back(free_[at]);
      } else {
        mark_made(step, later_mark);
        later_effect = std::max(later_effect, step_effect);
        later.push_back(at);
      }
    }
    settle();
    for (std::size_t i = 0; begin + i < end; ++i) {
      const bool left = i < ordered.size();
      steps_[begin + i] = left ? std::move(ordered[i]) : Step{};
      free_[begin + i] = left && ordered_free[i];
    }
    update_places(begin, end);
  }

  // Corrects places_ after steps have moved between `begin` and `end`.
  void update_places(std::size_t begin, std::size_t end) {
    ++last_update_;
    for (std::size_t at = begin; at < end; ++at) {
      if (!steps_[at].leaf) continue;
      Place& place = places_.at(*steps_[at].leaf);
      const bool is_first_here = std::exchange(place.updated, last_update_) != last_update_;
      if (is_first_here && place.first >= begin) place.first = at;
      if (place.last < end) place.last = at;
    }
  }

  // The positions of the first and the last step of a call.
  struct Place {
    std::size_t first, last;
    bool scattered;  // the call has several steps
    std::size_t updated = 0;
  };

  const ProgramView graph_;
  std::vector<Effect> effects_;  // by operation
  std::vector<Step> steps_;
  std::unordered_map<CallId, Place> places_;
  std::vector<bool> free_;           // by step: it is one operation that belongs to no module
  std::vector<std::uint32_t> mark_;  // by value: the last mark that mark_made() gave it
  std::uint32_t last_mark_ = 0;
  std::size_t last_update_ = 0;
  std::size_t work_ = 0;
};

}  // namespace

std::vector<Step> schedule(const ProgramView& graph,
                           const std::function<std::optional<CallId>(NodeId)>& leaf_of) {
  return Scheduler(graph).run(leaf_of);
}

}  // namespace fxtrace::internal
