// Undo log: the inverse of every step, run in reverse order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace fxtrace::internal {

class Journal {
 public:
  using Mark = std::size_t;

  // Begins a new epoch, which can be undone by itself.
  Mark mark() {
    ++epoch_;
    return inverses_.size();
  }
  void add(std::function<void()> inverse) { inverses_.push_back(std::move(inverse)); }
  // An inverse must not add steps.
  void undo_to(Mark mark) {
    for (; inverses_.size() > mark; inverses_.pop_back()) inverses_.back()();
    ++epoch_;
  }
  // Commits all steps.
  void forget() { inverses_.clear(); }
  // Returns the current epoch.  The steps of an epoch are undone together, so a class that can revert many
  // steps at once adds an inverse only for the first step of each epoch.
  std::uint64_t epoch() const { return epoch_; }

 private:
  std::vector<std::function<void()>> inverses_;
  std::uint64_t epoch_ = 0;
};

}  // namespace fxtrace::internal
