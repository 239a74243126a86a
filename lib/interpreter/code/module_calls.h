// Calls of modules in the code, and hooks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/program/torchscript_program.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

// Finds calls of modules in the code, also in code that no trace reaches.

// See Program::find_calls().  Looks at a bounded amount of code; finds no calls through interfaces.
std::vector<ModuleCall> find_module_calls(const TorchScriptProgram& program,
                                          const std::vector<ModuleId>& modules, const std::string& method);

// Hooks of scripted modules: functions that the caller of a module calls before and after its forward.

bool is_hook_of(const ClassType& type, const Function& function);

// Returns the module whose hook the node calls, as a value of the code; null for any other node.
const IrValue* hooked_module(const IrNode* node);

// Returns the number of hooks of submodules that a call of the module runs.  `method` is as Node::method.
std::size_t count_hooks_inside(const TorchScriptProgram& program, ModuleId module, const std::string& method);

// Returns a note about hooks in a traced archive: torch.jit.trace writes what a hook of a module does into
// the code of the module's caller, whose scope it has.  Python's stacks of the operations tell them.
std::optional<Diagnostic> hooks_in_callers(const TorchScriptProgram& program);

}  // namespace fxtrace::internal::interpreter
