// The costs of graphs and their nodes, for named sizes and for numbers in their place (--at).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fxtrace/report_values.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

using fxtrace::MemoryTimeline;

// The costs of graphs and their nodes.

// Computes `cost` of every node, graph and subgraph.  For calls of leaves, and of functions kept as one call,
// it starts from the cost that the front end has set on the node, which is without bytes of parameters.
void add_costs(GraphCollection& collection);

// Returns what happens to memory in the calls of the root's graph, from the peak that add_costs() finds;
// nothing unless that is a number.
std::optional<MemoryTimeline> find_timeline(const GraphCollection& collection);

// Numbers for the named sizes of a model (--at), so that its costs become numbers.

// The number for a named size, or all sizes of an input.
struct GivenSizes {
  std::string name;  // "batch", "s77", "x"
  std::vector<std::int64_t> sizes;
  bool operator==(const GivenSizes&) const = default;
};

// Reads "batch=1,seq=4096,x=1x3x224x224"; the sizes of an input also as [1,3,224,224].  Throws Error(kUsage).
std::vector<GivenSizes> read_given_sizes(const std::string& text);

// Returns the names of sizes in the shapes of the collection's graphs, sorted.
std::vector<std::string> names_of_sizes(const GraphCollection& collection);

// Returns whether a size or an input has the name.
bool has_sizes(const GraphCollection& collection, const GivenSizes& given);

// Replaces names by numbers in all shapes and costs, and computes costs again, so that a peak is a number.
// Guards stay as they are.  Returns the numbers by name.  Throws Error(kUsage) for a name that neither a
// size nor an input has, and for sizes that do not fit.
std::map<std::string, std::int64_t> set_sizes(GraphCollection& collection,
                                              const std::vector<GivenSizes>& given);

}  // namespace fxtrace::internal
