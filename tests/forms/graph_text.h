// Graphs as text: tests say what a step does to a graph in the form of graph/analysis/text_form.h, one node a
// line.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace fxtrace {

std::string print_graph(const Graph& graph);
std::string print_graph_with_values(const Graph& graph);

// Assignments stand behind the nodes: assign[n](%add).
// The graph that print_graph() writes so; blank lines are skipped, and spaces do not matter.  Throws
// Error(kInput) with the line of what is wrong; names that torch.fx would not give are wrong too.
Graph parse_graph(std::string_view text);

}  // namespace fxtrace
