// Finds calls of modules in code that no trace may reach.
#pragma once

#include <string>
#include <vector>

#include "torchscript/program/torchscript_program.h"
#include "trace/program.h"

namespace fxtrace::torchscript {

// See Program::find_calls().  Looks at a bounded amount of code; finds no calls through interfaces.
std::vector<ModuleCall> find_module_calls(const TorchScriptProgram& program,
                                          const std::vector<ModuleId>& modules, const std::string& method);

}  // namespace fxtrace::torchscript
