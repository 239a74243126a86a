// Finds calls of modules in the code, also in code that no trace reaches.
#pragma once

#include <string>
#include <vector>

#include "interpreter/program/torchscript_program.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

// See Program::find_calls().  Looks at a bounded amount of code; finds no calls through interfaces.
std::vector<ModuleCall> find_module_calls(const TorchScriptProgram& program,
                                          const std::vector<ModuleId>& modules, const std::string& method);

}  // namespace fxtrace::internal::interpreter
