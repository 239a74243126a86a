// Guesses the specs of a method's inputs from its code: from the parameters of the first operator that takes
// each input, and from the sizes, keys and texts that the code compares it with.
#pragma once

#include <vector>

#include "interpreter/program/torchscript_archive.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

// Returns one guess for each input, without running code; a guess has no specs when the code does not
// determine any.
std::vector<InputGuess> guess_inputs(const TorchScriptArchive& archive, const Ref<ObjectValue>& self,
                                     Function& method);

}  // namespace fxtrace::internal::interpreter
