// Example inputs as torch.save writes them.
#pragma once

#include <string>

#include "convert/lower/written_program.h"

namespace fxtrace {

// Returns the archive of torch.save with a tuple of the positional and the keyword arguments: tensors of
// zeros, of one element that is repeated, in the sizes that the symbols' hints give, and plain values.
std::string saved_example_inputs(const WrittenProgram& program);

}  // namespace fxtrace
