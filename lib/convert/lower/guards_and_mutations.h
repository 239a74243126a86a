// What a program says of its inputs: guards, and which of them a run writes to.
#pragma once

#include <span>
#include <vector>

#include "convert/lower/lowering.h"
#include "convert/lower/written_program.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Guards of a program: what the trace assumed of the inputs, as Python code that torch checks, such as
// L['x'].size()[0] % 8 == 0.

// Fills lowered.program.guards with the guards of the traced graph `source` that neither the shapes of the
// inputs nor the ranges of symbols imply, and notes them.  A guard that torch cannot check is only noted.
// `assumed` are conditions on the symbols of integer inputs besides.
void lower_guards(Lowered& lowered, const ModuleGraph& source, std::span<const Expression> assumed);

// The functional dialect: writes to inputs become results of the program.  The pass remove-inplace has made
// all other writes functional before.

// Turns each copy to an input that is not read any more, which the pass has left, into a
// mutation among the outputs.  Other writes are added to `refusals`.
void turn_writes_into_mutations(WrittenProgram& program, std::vector<Refusal>& refusals);

}  // namespace fxtrace::internal
