// The functional dialect: writes that are left in a graph become results of the program.
#pragma once

#include <vector>

#include "convert/lower/lowering.h"
#include "convert/lower/written_program.h"

namespace fxtrace {

// Turns each copy to an input that is not read any more, which the functionalizing pass has left, into a
// mutation among the outputs.  Other writes are added to `refusals`.
void remove_writes(WrittenProgram& program, std::vector<Refusal>& refusals);

}  // namespace fxtrace
