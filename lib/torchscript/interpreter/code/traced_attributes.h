// What torch.jit.trace left out of modules of torch.nn: attributes, as their operations tell them.
#pragma once

#include <vector>

#include "torchscript/interpreter/program/torchscript_program.h"
#include "trace/modules/leaf_attributes.h"

namespace fxtrace::interpreter {

// Returns, by module, what leaf_attributes.h finds in the code of modules whose attributes the archive does
// not have. Takes no more than a bounded part of the code.
std::vector<ModuleAttributes> traced_attributes(const TorchScriptProgram& program);

}  // namespace fxtrace::interpreter
