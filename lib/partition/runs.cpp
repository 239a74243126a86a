#include "partition/runs.h"

#include <algorithm>
#include <map>
#include <ranges>

namespace fxtrace::internal {
namespace {

// Pairs of numbers, to be asked for all seconds of a first.
class Index {
 public:
  Index(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs, std::size_t size)
      : begin_(size + 1), seconds_(pairs.size()) {
    for (const auto& [first, second] : pairs) ++begin_[first + 1];
    for (std::size_t i = 0; i < size; ++i) begin_[i + 1] += begin_[i];
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (const auto& [first, second] : pairs) seconds_[next[first]++] = second;
  }
  template <class F>
  void for_each(std::uint32_t first, const F& f) const {
    for (std::size_t i = begin_[first]; i < begin_[first + 1]; ++i) f(seconds_[i]);
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::uint32_t> seconds_;
};

class Scheduler {
 public:
  explicit Scheduler(const Tasks& tasks)
      : tasks_(tasks),
        size_(tasks.owner.size()),
        owner_(owners()),
        users_(between_units(tasks.needs, false), size_),
        givers_(between_units(tasks.values, true), size_),
        waits_for_(size_),
        run_(size_, Runs::kNone) {
    for (std::uint32_t task = 0; task < size_; ++task) {
      if (is_unit(task)) users_.for_each(task, [&](std::uint32_t user) { ++waits_for_[user]; });
    }
  }

  Runs run() {
    find_order();
    if (order_.size() < count_units()) return {{}, {}, find_circle()};
    find_turns();
    schedule();
    move_later();
    return finish();
  }

 private:
  using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  bool is_unit(std::uint32_t task) const { return tasks_.unit[task] == task && owner_[task] != kNotRun; }

  // A unit has the owner of its tasks, whatever those of anybody are.
  std::vector<Owner> owners() const {
    std::vector<Owner> owner(size_, kNotRun);
    for (std::size_t task = 0; task < size_; ++task) {
      Owner& of_unit = owner[tasks_.unit[task]];
      if (of_unit == kNotRun || of_unit == kAnybody) of_unit = tasks_.owner[task];
    }
    return owner;
  }

  Pairs between_units(const Pairs& pairs, bool is_swapped) const {
    Pairs found;
    for (const auto& [task, user] : pairs) {
      const std::uint32_t from = tasks_.unit[task];
      const std::uint32_t to = tasks_.unit[user];
      if (from == to || owner_[from] == kNotRun || owner_[to] == kNotRun) continue;
      found.emplace_back(is_swapped ? to : from, is_swapped ? from : to);
    }
    return found;
  }

  std::size_t count_units() const {
    std::size_t count = 0;
    for (std::uint32_t task = 0; task < size_; ++task) count += is_unit(task) ? 1 : 0;
    return count;
  }

  // Orders the units by their needs; those in circles, and what needs them, are missing.
  void find_order() {
    std::vector<std::uint32_t> waits_for = waits_for_;
    for (std::uint32_t task = 0; task < size_; ++task) {
      if (is_unit(task) && waits_for[task] == 0) order_.push_back(task);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      users_.for_each(order_[i], [&](std::uint32_t user) {
        if (--waits_for[user] == 0) order_.push_back(user);
      });
    }
  }

  std::vector<std::uint32_t> find_circle() const {
    std::vector<bool> is_left(size_);
    for (std::uint32_t task = 0; task < size_; ++task) is_left[task] = is_unit(task);
    for (const std::uint32_t unit : order_) is_left[unit] = false;
    // What no unit that is left needs is behind a circle.
    std::vector<std::uint32_t> users(size_), ends;
    Pairs needs;
    for (std::uint32_t task = 0; task < size_; ++task) {
      if (!is_left[task]) continue;
      users_.for_each(task, [&](std::uint32_t user) {
        ++users[task];
        needs.emplace_back(user, task);
      });
      if (users[task] == 0) ends.push_back(task);
    }
    const Index givers(needs, size_);
    while (!ends.empty()) {
      const std::uint32_t end = ends.back();
      ends.pop_back();
      is_left[end] = false;
      givers.for_each(end, [&](std::uint32_t giver) {
        if (--users[giver] == 0) ends.push_back(giver);
      });
    }
    std::vector<std::uint32_t> circle;
    for (std::uint32_t task = 0; task < size_; ++task) {
      if (owner_[tasks_.unit[task]] != kNotRun && is_left[tasks_.unit[task]]) circle.push_back(task);
    }
    return circle;
  }

  // Counts, by unit, the most changes of owner on a way from it to the end.
  void find_turns() {
    turns_.assign(size_, 0);
    for (const std::uint32_t unit : std::views::reverse(order_)) {
      users_.for_each(unit, [&](std::uint32_t user) {
        const bool is_turn =
            owner_[user] != owner_[unit] && owner_[user] != kAnybody && owner_[unit] != kAnybody;
        turns_[unit] = std::max(turns_[unit], turns_[user] + (is_turn ? 1 : 0));
      });
    }
  }

  struct Ready {
    std::vector<std::uint32_t> units;
    std::uint32_t turns = 0;  // the most of these
  };

  void make_ready(std::uint32_t unit) {
    Ready& ready = ready_[owner_[unit]];
    ready.units.push_back(unit);
    ready.turns = std::max(ready.turns, turns_[unit]);
  }

  // Returns the owner whose tasks run next; the present one when nothing of another owner can run.
  Owner next_owner(Owner owner) const {
    Owner next = owner;
    std::uint32_t turns = 0;
    for (const auto& [other, ready] : ready_) {  // nobody comes first
      if (other == kAnybody || ready.units.empty()) continue;
      if (other == kNobody) return other;
      if (next == owner || ready.turns > turns) {
        next = other;
        turns = ready.turns;
      }
    }
    return next;
  }

  void schedule() {
    for (std::uint32_t task = 0; task < size_; ++task) {
      if (is_unit(task) && waits_for_[task] == 0) make_ready(task);
    }
    std::size_t done = 0;
    Owner owner = kNobody;
    while (done < order_.size()) {
      const auto number = static_cast<std::uint32_t>(owners_.size());
      owners_.push_back(owner);
      while (true) {
        std::vector<std::uint32_t> units = std::move(ready_[kAnybody].units);
        ready_[kAnybody] = {};
        const std::vector<std::uint32_t> own = std::move(ready_[owner].units);
        ready_[owner] = {};
        units.insert(units.end(), own.begin(), own.end());
        if (units.empty()) break;
        for (const std::uint32_t unit : units) {
          run_[unit] = number;
          ++done;
          users_.for_each(unit, [&](std::uint32_t user) {
            if (--waits_for_[user] == 0) make_ready(user);
          });
        }
      }
      owner = next_owner(owner);
    }
  }

  void move_later() {
    for (const std::uint32_t unit : std::views::reverse(order_)) {
      std::uint32_t first_use = Runs::kNone;
      users_.for_each(unit, [&](std::uint32_t user) { first_use = std::min(first_use, run_[user]); });
      if (first_use == Runs::kNone || first_use == run_[unit]) continue;
      if (owner_[unit] != kAnybody && owners_[first_use] != owner_[unit]) continue;
      bool is_of_run = false;
      givers_.for_each(unit, [&](std::uint32_t giver) {
        // A chain of tasks of anybody moves as a whole, its end first.
        const bool moves = owner_[unit] == kAnybody && owner_[giver] == kAnybody;
        is_of_run = is_of_run || (!moves && run_[giver] == run_[unit]);
      });
      if (!is_of_run) run_[unit] = first_use;
    }
  }

  // Leaves out runs without tasks, and joins runs of nobody that become neighbours.
  Runs finish() const {
    std::vector<bool> is_used(owners_.size());
    for (std::uint32_t task = 0; task < size_; ++task) {
      if (is_unit(task)) is_used[run_[task]] = true;
    }
    Runs runs;
    std::vector<std::uint32_t> number(owners_.size(), Runs::kNone);
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      if (!is_used[i]) continue;
      if (runs.owner.empty() || runs.owner.back() != owners_[i]) runs.owner.push_back(owners_[i]);
      number[i] = static_cast<std::uint32_t>(runs.owner.size() - 1);
    }
    runs.run.assign(size_, Runs::kNone);
    for (std::uint32_t task = 0; task < size_; ++task) {
      if (tasks_.owner[task] != kNotRun) runs.run[task] = number[run_[tasks_.unit[task]]];
    }
    return runs;
  }

  const Tasks& tasks_;
  std::size_t size_;
  std::vector<Owner> owner_;  // by unit
  Index users_, givers_;      // units that need a unit; units that hand it values
  std::vector<std::uint32_t> waits_for_;
  std::vector<std::uint32_t> order_, turns_;
  std::map<Owner, Ready> ready_;
  std::vector<Owner> owners_;       // by run
  std::vector<std::uint32_t> run_;  // by unit
};

}  // namespace

Runs few_runs(const Tasks& tasks) { return Scheduler(tasks).run(); }

}  // namespace fxtrace::internal
