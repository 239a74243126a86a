// The functional dialect: writes to inputs become results of the program.  The pass remove-inplace has made
// all other writes functional before.
#pragma once

#include <vector>

#include "convert/lower/lowering.h"
#include "convert/lower/written_program.h"

namespace fxtrace::internal {

// Turns each copy to an input that is not read any more, which the pass has left, into a
// mutation among the outputs.  Other writes are added to `refusals`.
void turn_writes_into_mutations(WrittenProgram& program, std::vector<Refusal>& refusals);

}  // namespace fxtrace::internal
