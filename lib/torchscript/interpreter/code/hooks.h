// Hooks of scripted modules: functions that the caller of a module calls before and after its forward.
#pragma once

#include <cstddef>
#include <string>

#include "torchscript/interpreter/program/torchscript_program.h"

namespace fxtrace::interpreter {

bool is_hook_of(const ClassType& type, const Function& function);

// Returns the module whose hook the node calls, as a value of the code; null for any other node.
const IrValue* hooked_module(const IrNode* node);

// Returns the number of hooks of submodules that a call of the module runs.  `method` is as Node::method.
std::size_t count_hooks_inside(const TorchScriptProgram& program, ModuleId module, const std::string& method);

}  // namespace fxtrace::interpreter
