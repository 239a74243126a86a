// A collection as one Graphviz graph, for looking at: dot -Tsvg.
//
// Every graph of the collection is a cluster of its own where there are several; inside, clusters nest as the
// modules do whose forwards make the nodes.  A called module stands in its parent's cluster.  Tool tips (in
// SVG) carry what a short label leaves out: the whole target, the type, the source line.
#pragma once

#include <cstddef>
#include <ostream>

#include "graph/graph_collection.h"

namespace fxtrace {

struct DotOptions {
  // Parameters and buffers: those of called modules in their boxes, others as get_attr nodes.
  bool parameters = false;
  std::size_t max_label = 60;  // characters in one line of a label; 0 is no limit
};

// Writes UTF-8 that Graphviz reads without a warning, whatever the names in the collection are.  The same
// collection and options give the same bytes.  Identifiers are g<graph>_n<position in the graph>, in
// subgraphs of control flow g<graph>s<subgraph>_n<position>.
void write_dot(const GraphCollection& collection, std::ostream& out, const DotOptions& options);

}  // namespace fxtrace
