// Recovers attributes that torch.jit.trace left out of modules of torch.nn from the operations of the
// modules.
#pragma once

#include <vector>

#include "interpreter/program/torchscript_program.h"
#include "trace/modules/leaf_attributes.h"

namespace fxtrace::internal::interpreter {

// Returns by module the attributes that leaf_attributes.h finds in the code, for modules whose attributes the
// archive does not have.  Looks at a bounded amount of code.
std::vector<ModuleAttributes> traced_attributes(const TorchScriptProgram& program);

}  // namespace fxtrace::internal::interpreter
