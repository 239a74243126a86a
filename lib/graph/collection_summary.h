// How much a collection holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace {

struct Summary {
  std::int64_t graphs = 0;
  std::int64_t nodes = 0;  // of all graphs, subgraphs of control flow included
  std::array<std::pair<ModuleStatus, std::int64_t>, 4> modules;
  std::int64_t parameters = 0;
  // Of all graphs that count; of several without a peak.  Absent when no costs are known.
  std::optional<Cost> cost;
};

// Which graphs' costs are part of the model's: the root's; and where a module failed and what its calls cost
// is not known either, those of its submodules, each run once.
struct CountedGraphs {
  std::vector<bool> counts;                     // by graph
  std::unordered_set<std::string_view> closed;  // those modules, by path
};
CountedGraphs graphs_that_count(const GraphCollection& collection);

Summary summarize(const GraphCollection& collection);

// Modules that failed, shared ones once.
std::size_t count_failed(const GraphCollection& collection);

}  // namespace fxtrace
