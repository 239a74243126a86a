// A collection as a JSON file of Google's Model Explorer, which folds and unfolds graphs by itself: all nodes
// are in it.
//
// The fields are those of model_explorer.graph_builder (package ai-edge-model-explorer), GraphCollection
// outermost.  Modules are namespaces: "blocks (ModuleList)/0 (Block)", and a module's second call in a graph
// is a box of its own, "0 (Block) (call 2)".  Bodies of control flow are graphs of their own, to which the
// nodes that run them lead.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"

namespace fxtrace {

// Writes UTF-8.  The same collection gives the same bytes.  Linear in the size of the collection, texts of
// namespaces included.
void write_model_explorer(const GraphCollection& collection, std::ostream& out);

}  // namespace fxtrace
