// Statistics of a collection: numbers of graphs, nodes, modules and parameters, and the total cost.
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

namespace fxtrace::internal {

struct Summary {
  std::int64_t graphs = 0;
  std::int64_t nodes = 0;  // in all graphs, including subgraphs of control flow
  std::array<std::pair<ModuleStatus, std::int64_t>, 4> modules;
  std::int64_t parameters = 0;
  // The total of all counted graphs (CountedGraphs), without a peak when there are several.  Absent when no
  // costs are known.
  std::optional<Cost> cost;
};

// The graphs whose costs add up to the model's: the root's, and, for a failed module whose calls have no
// known cost, the graphs of its submodules, each counted once.
struct CountedGraphs {
  std::vector<bool> counts;                     // by graph: whether it counts
  std::unordered_set<std::string_view> closed;  // paths of the failed modules without known cost
};
CountedGraphs graphs_that_count(const GraphCollection& collection);

Summary summarize(const GraphCollection& collection);

// Returns the number of modules that failed, shared ones counted once.
std::size_t count_failed(const GraphCollection& collection);

}  // namespace fxtrace::internal
