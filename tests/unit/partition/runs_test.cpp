// Drawn graphs: the runs are an order of execution, with as few regions as there can be.
#include "partition/runs.h"

#include <algorithm>
#include <random>

#include "catch.h"

using namespace fxtrace::internal;

namespace {

Tasks draw(std::mt19937& random, int owners) {
  const std::size_t size = 1 + random() % 40;
  Tasks tasks(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    const int kind = static_cast<int>(random() % 10);
    tasks.owner[i] = kind == 0   ? kNotRun
                     : kind == 1 ? kAnybody
                     : kind < 5  ? kNobody
                                 : static_cast<Owner>(random() % static_cast<unsigned>(owners));
    for (std::uint32_t from = 0; from < i; ++from) {
      if (random() % 8 != 0 || tasks.owner[i] == kNotRun) continue;
      tasks.needs.emplace_back(from, i);
      if (random() % 2 == 0) tasks.values.emplace_back(from, i);
    }
  }
  return tasks;
}

// The most regions on a way through the needs; tasks of anybody are of the side that they are reached from.
std::size_t longest_chain(const Tasks& tasks) {
  std::size_t most = 0;
  // By task and side, 0 for nobody and 1 for the owner: the regions so far when the task runs on that side.
  std::vector<std::size_t> count(tasks.owner.size(), 0);
  std::vector<bool> is_in(tasks.owner.size(), false);
  for (std::uint32_t i = 0; i < tasks.owner.size(); ++i) {
    if (tasks.owner[i] == kNotRun) continue;
    std::size_t regions = 0;
    bool in_region = false;
    for (const auto& [from, to] : tasks.needs) {
      if (to != i || tasks.owner[from] == kNotRun) continue;
      // Later is what has more regions behind it, or the same number and has left the last one.
      if (count[from] > regions || (count[from] == regions && !is_in[from])) {
        regions = count[from];
        in_region = is_in[from];
      }
    }
    if (tasks.owner[i] == 0 && !in_region) ++regions;
    count[i] = regions;
    is_in[i] = tasks.owner[i] == 0 || (tasks.owner[i] == kAnybody && in_region);
    most = std::max(most, regions);
  }
  return most;
}

void check_order(const Tasks& tasks, const Runs& runs) {
  REQUIRE(runs.circle.empty());
  for (std::size_t i = 0; i < tasks.owner.size(); ++i) {
    REQUIRE((runs.run[i] == Runs::kNone) == (tasks.owner[i] == kNotRun));
    if (tasks.owner[i] >= 0 || tasks.owner[i] == kNobody) REQUIRE(runs.owner[runs.run[i]] == tasks.owner[i]);
    if (runs.run[i] != Runs::kNone) REQUIRE(runs.run[i] == runs.run[tasks.unit[i]]);
  }
  for (const auto& [from, to] : tasks.needs) {
    if (tasks.owner[from] != kNotRun && tasks.owner[to] != kNotRun) REQUIRE(runs.run[from] <= runs.run[to]);
  }
  for (std::size_t i = 1; i < runs.owner.size(); ++i) REQUIRE(runs.owner[i] != runs.owner[i - 1]);
}

}  // namespace

TEST_CASE("With one owner there are as few runs as there can be") {
  std::mt19937 random(1);
  for (int i = 0; i < 3'000; ++i) {
    const Tasks tasks = draw(random, 1);
    const Runs runs = few_runs(tasks);
    check_order(tasks, runs);
    CHECK(static_cast<std::size_t>(std::ranges::count(runs.owner, 0)) == longest_chain(tasks));
  }
}

TEST_CASE("Runs of several owners are an order of execution") {
  std::mt19937 random(2);
  for (int i = 0; i < 1'000; ++i) {
    const Tasks tasks = draw(random, 3);
    check_order(tasks, few_runs(tasks));
  }
}

TEST_CASE("Units that need each other are told") {
  Tasks tasks(5);
  tasks.owner = {0, 0, 0, 0, kNobody};
  tasks.needs = {{0, 1}, {2, 3}, {1, 4}};
  tasks.unit = {0, 1, 1, 0, 4};  // 0 and 3, 1 and 2
  CHECK(few_runs(tasks).circle == std::vector<std::uint32_t>{0, 1, 2, 3});
  tasks.unit = {0, 0, 2, 3, 4};
  CHECK(few_runs(tasks).circle.empty());
}

TEST_CASE("A task that only a later run uses moves there") {
  // 1 could run with 0, but only 3 needs it, which comes after 2 of nobody.
  Tasks tasks(5);
  tasks.owner = {0, 0, kNobody, 0, 0};
  tasks.needs = {{0, 2}, {1, 3}, {2, 3}};
  tasks.values = tasks.needs;
  const Runs runs = few_runs(tasks);
  CHECK(runs.run == std::vector<std::uint32_t>{0, 2, 1, 2, 0});
}
