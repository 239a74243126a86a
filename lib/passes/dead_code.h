// eliminate-dead-code: what nobody uses and what does nothing goes.
#pragma once

#include "passes/pass.h"

namespace fxtrace {

// Calls that only give results, of which none is used, attributes and constants that nothing reads, checks
// that stand in the guards, and operands, results and carried values of control flow that neither the
// subgraphs nor the graph around need, and what only logs or switches something for no call (switches.h).
// Inputs of a module's graph stay, and so do writes, random and unknown calls, leaves and checks that nothing
// else says.
void eliminate_dead_code(ModuleGraph& graph, PassContext& context);

}  // namespace fxtrace
