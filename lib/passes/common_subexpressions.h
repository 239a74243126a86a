// common-subexpressions: what is computed twice from the same values is computed once (J. Cocke, Global
// Common Subexpression Elimination, 1970; here in one block, by the text of the operation).
#pragma once

#include "passes/pass.h"

namespace fxtrace {

// Two calls are one where operator, arguments and what is known of the results are equal, nothing that they
// read is written in between, and nobody can tell the results apart by writing one of them.  Random calls and
// calls of modules stay.
void merge_common_subexpressions(ModuleGraph& graph, PassContext& context);

}  // namespace fxtrace
