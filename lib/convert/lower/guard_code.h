// What a trace assumed of the inputs, as torch.export has it checked: Python over L['x'].size()[0].
#pragma once

#include "convert/lower/lowering.h"
#include "graph/graph_collection.h"

namespace fxtrace {

// Fills lowered.program.guards with the guards of `source`, the graph that it was made of, which neither the
// shapes of the inputs nor the ranges of the symbols tell, and notes them.  Those that torch cannot check are
// noted as such.
void lower_guards(Lowered& lowered, const ModuleGraph& source);

}  // namespace fxtrace
