// The symbols of a program's sizes: their names, ranges and examples.
#pragma once

#include "convert/lower/lowering.h"
#include "graph/graph_collection.h"

namespace fxtrace {

// Fills lowered.program.symbols with all that its values consist of.  `source` is the graph that it was made
// of.  Throws Error(kUsage) for hints of dimensions that there are not.
void name_symbols(Lowered& lowered, const ModuleGraph& source, const LoweringOptions& options);

}  // namespace fxtrace
