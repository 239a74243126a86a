// The dialect without writes in place.
#pragma once

#include <vector>

#include "convert/lower/lowering.h"
#include "convert/lower/written_program.h"

namespace fxtrace {

// Makes results of what a graph still writes after the pass that removes writes: a copy to an input that
// nobody reads any more.  Other writes are added to `refusals`.
void remove_writes(WrittenProgram& program, std::vector<Refusal>& refusals);

}  // namespace fxtrace
