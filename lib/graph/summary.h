// How much a collection holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "graph/graph_collection.h"

namespace fxtrace {

struct Summary {
  std::int64_t graphs = 0;
  std::int64_t nodes = 0;  // of all graphs, subgraphs of control flow included
  std::array<std::pair<ModuleStatus, std::int64_t>, 4> modules;
  std::int64_t parameters = 0;
  // Of the root's graph; where modules failed, of the graphs of their submodules too, each run once, and then
  // without a peak.  Absent when no costs are known.
  std::optional<Cost> cost;
};

Summary summarize(const GraphCollection& collection);

// Modules that failed, shared ones once.
std::size_t count_failed(const GraphCollection& collection);

}  // namespace fxtrace
