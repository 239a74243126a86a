// Graphs as text: tests write the graph before and after a step in the form of graph/analysis/text_form.h,
// one node a line.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace fxtrace {

std::string print_graph(const Graph& graph);
std::string print_graph_with_values(const Graph& graph);

// Assignments are written behind the nodes: assign[n](%add).
// Returns the graph that print_graph() would write so; blank lines and spaces do not matter.  Throws
// Error(kInput) with the line of a mistake; names that torch.fx would not give are mistakes too.
Graph parse_graph(std::string_view text);

}  // namespace fxtrace
