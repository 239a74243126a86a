// Writes a collection as a JSON file for Google's Model Explorer.  It contains all nodes, as the Model
// Explorer folds graphs by itself.
//
// The fields are those of model_explorer.graph_builder (package ai-edge-model-explorer), GraphCollection
// outermost.  Modules are namespaces: "blocks (ModuleList)/0 (Block)"; a module's second call in a graph has
// its own namespace, "0 (Block) (call 2)".  Bodies of control flow are separate graphs, linked from the nodes
// that run them.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Writes UTF-8.  The same collection gives the same bytes.  Takes time linear in the size of the collection,
// texts of namespaces included.
void write_model_explorer(const GraphCollection& collection, std::ostream& out);

}  // namespace fxtrace::internal
