// What a method's code tells of its inputs: the parameters of the first operator that takes one.
#pragma once

#include <ATen/core/function.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "trace/program.h"

namespace fxtrace {

// Nothing is run.  Where the code does not tell, a guess has no specs.
std::vector<InputGuess> guess_inputs(const c10::intrusive_ptr<c10::ivalue::Object>& self,
                                     torch::jit::Function& method);

}  // namespace fxtrace
