// Writes example inputs as an archive of torch.save.
#pragma once

#include <string>

#include "convert/lower/written_program.h"

namespace fxtrace::internal {

// Returns an archive with a tuple of the positional and the keyword arguments.  Tensors are zeros, one
// element that is repeated (stride 0), in the sizes that the hints of symbols give; plain values are
// themselves.
std::string saved_example_inputs(const WrittenProgram& program);

}  // namespace fxtrace::internal
