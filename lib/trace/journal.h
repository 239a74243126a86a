// How what was done is taken back: the inverse of every step, run in the opposite order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace fxtrace {

class Journal {
 public:
  using Mark = std::size_t;

  // What is added from now on can be undone by itself.
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
  // What was done stays.
  void forget() { inverses_.clear(); }
  // Steps of one epoch are undone together.  For those who can take many steps back at once: the first one of
  // each epoch needs an inverse.
  std::uint64_t epoch() const { return epoch_; }

 private:
  std::vector<std::function<void()>> inverses_;
  std::uint64_t epoch_ = 0;
};

}  // namespace fxtrace
