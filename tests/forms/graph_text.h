// Graphs as text: tests write the graph before and after a step in the form of graph/analysis/text_form.h,
// one node a line.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace fxtrace::internal {

// Returns one line for each node, then one for each assignment: assign[n](%add).
std::string print_graph(const Graph& graph);
// The same, with what is known of each value: "-> float32[2, n + 1]".
std::string print_graph_with_values(const Graph& graph);

// Returns the graph that either of the two would write so; blank lines and spaces do not matter.  Throws
// Error(kInput) with the line of a mistake; names that torch.fx would not give are mistakes too.
Graph parse_graph(std::string_view text);

// Returns the node with the name; throws std::out_of_range when there is none.
NodeId node_named(const Graph& graph, std::string_view name);

}  // namespace fxtrace::internal
