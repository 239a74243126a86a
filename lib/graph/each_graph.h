// A traversal of a graph and its subgraphs.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "graph/graph.h"

namespace fxtrace::internal {

// Calls f(graph) for the graph and all its subgraphs, outer graphs first. f must not add or remove
// subgraphs.
template <class Graph, class F>
  requires std::same_as<std::remove_const_t<Graph>, ModuleGraph>
void for_each_graph(Graph& root, F&& f) {
  std::vector<Graph*> pending{&root};
  while (!pending.empty()) {
    Graph& graph = *pending.back();
    pending.pop_back();
    for (std::size_t i = graph.subgraphs.size(); i-- > 0;) pending.push_back(&graph.subgraphs[i].graph);
    f(graph);
  }
}

}  // namespace fxtrace::internal
