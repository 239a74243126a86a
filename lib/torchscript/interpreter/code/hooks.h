// Hooks of scripted modules: functions that the code which calls a module calls around its forward.
#pragma once

#include <cstddef>
#include <string>

#include "torchscript/interpreter/program/torchscript_program.h"

namespace fxtrace::interpreter {

bool is_hook_of(const ClassType& type, const Function& function);

// Returns the module whose hook the node calls, as a value of the code; null for any other node.
const IrValue* hooked_module(const IrNode* node);

// Returns how many hooks of submodules the code calls that a call of the module runs.  `method` is as
// Node::method.
std::size_t count_hooks_inside(const TorchScriptProgram& program, ModuleId module, const std::string& method);

}  // namespace fxtrace::interpreter
