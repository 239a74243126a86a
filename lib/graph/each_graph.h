// Visits a graph and the graphs within it.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace fxtrace {

// Calls f(graph) for the graph and all its subgraphs, each before those within it.
template <class F>
void for_each_graph(const ModuleGraph& root, F&& f) {
  std::vector<const ModuleGraph*> pending{&root};
  while (!pending.empty()) {
    const ModuleGraph& graph = *pending.back();
    pending.pop_back();
    for (std::size_t i = graph.subgraphs.size(); i-- > 0;) pending.push_back(&graph.subgraphs[i].graph);
    f(graph);
  }
}

}  // namespace fxtrace
