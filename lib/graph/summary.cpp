#include "graph/summary.h"

#include <algorithm>

namespace fxtrace {
namespace {

std::int64_t count_nodes(const ModuleGraph& graph) {
  auto count = static_cast<std::int64_t>(graph.graph.size());
  for (const auto& [name, subgraph] : graph.subgraphs) count += count_nodes(subgraph);
  return count;
}

void add(std::optional<SymInt>& sum, const std::optional<SymInt>& more) {
  if (more) sum = sum ? *sum + *more : *more;
}

Cost together(const Cost& first, const Cost& second) {
  Cost sum = first;
  sum.peak_bytes.reset();
  try {
    add(sum.macs, second.macs);
    add(sum.activation_bytes, second.activation_bytes);
  } catch (const SymbolicError&) {
    sum.macs.reset();
    sum.activation_bytes.reset();
  }
  sum.parameter_bytes += second.parameter_bytes;
  for (const auto& [name, count] : second.unknown) sum.unknown[name] += count;
  sum.unsized += second.unsized;
  return sum;
}

}  // namespace

std::size_t count_failed(const GraphCollection& collection) {
  return static_cast<std::size_t>(std::ranges::count_if(collection.modules, [](const ModuleRecord& module) {
    return module.status == ModuleStatus::kFailed && !module.alias_of;
  }));
}

Summary summarize(const GraphCollection& collection) {
  Summary summary;
  summary.graphs = static_cast<std::int64_t>(collection.graphs.size());
  for (const auto& graph : collection.graphs) {
    summary.nodes += count_nodes(graph);
    if (graph.cost) summary.cost = summary.cost ? together(*summary.cost, *graph.cost) : *graph.cost;
  }
  summary.modules = {{{ModuleStatus::kTraced, 0},
                      {ModuleStatus::kLeaf, 0},
                      {ModuleStatus::kFailed, 0},
                      {ModuleStatus::kUnvisited, 0}}};
  for (auto& [status, count] : summary.modules) {
    count = std::ranges::count(collection.modules, status, &ModuleRecord::status);
  }
  summary.parameters = static_cast<std::int64_t>(collection.parameters.size());
  return summary;
}

}  // namespace fxtrace
