#include "graph/analysis/collection_summary.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/graph_collection.h"
#include "support/integers.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

void add(std::optional<SymInt>& sum, const std::optional<SymInt>& more) {
  if (more) sum = sum ? *sum + *more : *more;
}

Cost together(const Cost& first, const Cost& second) {
  Cost sum = first;
  sum.peak_bytes.reset();
  try {
    add(sum.macs, second.macs);
    add(sum.uncounted_macs, second.uncounted_macs);
    add(sum.activation_bytes, second.activation_bytes);
  } catch (const SymbolicError&) {
    sum.macs.reset();
    sum.activation_bytes.reset();
  }
  add_saturated(sum.parameter_bytes, second.parameter_bytes);
  for (const auto& [name, count] : second.unknown) add_saturated(sum.unknown[name], count);
  add_saturated(sum.unsized, second.unsized);
  return sum;
}

// Returns whether a call of a failed module has no known cost.
bool is_closed(const Node& call, const ModuleRecord& module) {
  const std::optional<Cost>& cost = *call.cost;
  return !cost || !cost->macs || cost->unknown.contains(module.type);
}

}  // namespace

CountedGraphs graphs_that_count(const GraphCollection& collection) {
  std::unordered_map<std::string_view, const ModuleRecord*> failed;
  for (const ModuleRecord& module : collection.modules) {
    if (module.status == ModuleStatus::kFailed) failed.emplace(module.path, &module);
  }
  CountedGraphs found;
  const auto look_into = [&](const ModuleGraph& graph) {
    for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
      const Node& node = graph.graph.node(id);
      if (node.op != Opcode::kCallModule) continue;
      const auto module = failed.find(called_module(node));
      if (module != failed.end() && is_closed(node, *module->second)) found.closed.insert(module->first);
    }
  };
  for (const ModuleGraph& graph : collection.graphs) {
    // The failed module for which the graph was made is found among its outer modules; containers may be in
    // between.
    std::string_view path = graph.module;
    bool is_inside_closed = found.counts.empty();
    while (!is_inside_closed && !path.empty()) {
      path = QualifiedName(path).parent();
      is_inside_closed = found.closed.contains(path);
      if (failed.contains(path)) break;
    }
    found.counts.push_back(is_inside_closed);
    if (is_inside_closed && !failed.empty()) for_each_graph(graph, look_into);
  }
  return found;
}

std::size_t count_failed(const GraphCollection& collection) {
  return static_cast<std::size_t>(std::ranges::count_if(collection.modules, [](const ModuleRecord& module) {
    return module.status == ModuleStatus::kFailed && !module.alias_of;
  }));
}

Summary summarize(const GraphCollection& collection) {
  Summary summary;
  summary.graphs = static_cast<std::int64_t>(collection.graphs.size());
  const std::vector<bool> counts = graphs_that_count(collection).counts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const ModuleGraph& graph = collection.graphs[i];
    for_each_graph(graph, [&](const ModuleGraph& each) {
      summary.nodes += static_cast<std::int64_t>(each.graph.size());
    });
    if (counts[i] && graph.cost)
      summary.cost = summary.cost ? together(*summary.cost, *graph.cost) : *graph.cost;
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

}  // namespace fxtrace::internal
