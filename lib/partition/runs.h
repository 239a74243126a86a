// Runs: an order of execution with few changes of owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fxtrace::internal {

using Owner = std::int32_t;            // a number from 0
inline constexpr Owner kNobody = -1;   // runs of nobody are not counted
inline constexpr Owner kAnybody = -2;  // runs beside any other
inline constexpr Owner kNotRun = -3;   // is there from the start

// Things to run, by number.  Each needs earlier numbers only.
struct Tasks {
  std::vector<Owner> owner;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> needs;   // pairs of a task and one that needs it
  std::vector<std::pair<std::uint32_t, std::uint32_t>> values;  // those of them that hand over a value
  // Tasks with one number here run together; the number is that of one of them.
  std::vector<std::uint32_t> unit;

  explicit Tasks(std::size_t size) : owner(size, kNotRun), unit(size) {
    for (std::size_t i = 0; i < size; ++i) unit[i] = static_cast<std::uint32_t>(i);
  }
};

struct Runs {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<Owner> owner;        // by run, in order of execution
  std::vector<std::uint32_t> run;  // by task; kNone for those that are not run
  // Tasks whose units need each other in a circle, and what is between such units.  Not empty: nothing else
  // is set.
  std::vector<std::uint32_t> circle;
};

// Orders the tasks into runs.  A run is ended only when nothing else of its owner can run.  With one owner
// beside nobody there are as many runs of it as its tasks and those of nobody take turns on some way through
// the needs, which is the least.  With several, the owner with the most turns to come is next.  Afterwards
// tasks that only later runs of their owner use, and that use nothing of their own run, move to these.
// Takes time linear in tasks and needs.
Runs few_runs(const Tasks& tasks);

}  // namespace fxtrace::internal
