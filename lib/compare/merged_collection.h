// Merged collection: two collections as one, for a picture of their differences.
#pragma once

#include <string>
#include <unordered_map>

#include "compare/comparison.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// The second collection, with nodes and modules that only the first has: these are where they were, and
// nothing takes their values.  Its file is "a.pt → b.pt".  It is made to be drawn, and cannot run.
struct MergedCollection {
  GraphCollection collection;
  std::unordered_map<const Node*, Change> nodes;         // marked nodes of its graphs and their bodies
  std::unordered_map<std::string_view, Change> modules;  // marked modules, by path
};

// Merges two collections.  `comparison` is the result of compare() with all kinds, and not folded;
// differences of the kinds `marked` become marks.
MergedCollection merge(const GraphCollection& before, const GraphCollection& after,
                       const ModelComparison& comparison, DifferenceKinds marked);

}  // namespace fxtrace::internal
