// Two collections as one, for a picture of what differs.
#pragma once

#include <string>
#include <unordered_map>

#include "compare/comparison.h"
#include "graph/graph_collection.h"

namespace fxtrace {

// The second collection, with nodes and modules that only the first has: these stand where they stood, and
// nothing takes their values; its file is "a.pt → b.pt".  It is to be looked at, and computes nothing.
struct MergedCollection {
  GraphCollection collection;
  std::unordered_map<const Node*, Change> nodes;         // of its graphs and their bodies
  std::unordered_map<std::string_view, Change> modules;  // by path
};

// `comparison` is compare()'s of both, told with all kinds, and not folded; those of `marked` leave marks.
MergedCollection merge(const GraphCollection& before, const GraphCollection& after,
                       const ModelComparison& comparison, DifferenceKinds marked);

}  // namespace fxtrace
