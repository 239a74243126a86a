// What a method's code tells of its inputs: the parameters of the first operator that takes one.
#pragma once

#include <vector>

#include "torchscript/torchscript_archive.h"
#include "trace/program.h"

namespace fxtrace::torchscript {

// Nothing is run.  Where the code does not tell, a guess has no specs.
std::vector<InputGuess> guess_inputs(const TorchScriptArchive& archive, const Ref<ObjectValue>& self,
                                     Function& method);

}  // namespace fxtrace::torchscript
