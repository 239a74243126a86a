// Makes a part of a graph a collection of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace {

struct ExtractRequest {
  // The module whose call is the part, by its path; the part is its own graph if it has one and no call is
  // given.
  std::optional<std::string> module;
  std::optional<std::int64_t> call;  // which of its calls in the graph, from 1
  // Or all nodes that lead from one of `from` to one of `to`, these included, by name.  Without `from` all
  // that `to` needs; without `to` all that needs `from`, up to the output.
  std::vector<std::string> from, to;
  std::string graph;  // the module of the graph that has all these
};

// Returns the part with the modules, parameters, constants, subgraphs, guards and order that belong to it.
//
// Nodes keep their names, scopes and order.  A value that enters becomes a placeholder of its name, in the
// order of first use; parameters, buffers and constants are read as before.  What is used outside becomes the
// output: the value itself, or a tuple of several in the order of the nodes.
//
// Run on the values that entered, it computes what the graph computed, bit for bit.  For that, nodes come
// along that nobody asked for: those between others of the part, those that write in between to memory that
// the part reads, views of memory that it writes, and calls that switch autocast and gradients.  A buffer
// that is written earlier enters as an input.
//
// Throws Error(kUsage) when there is no such part, and Error(kInput) when it cannot stand by itself.
GraphCollection extract(const GraphCollection& collection, const ExtractRequest& part);

}  // namespace fxtrace
