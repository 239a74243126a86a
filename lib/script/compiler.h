// Compiles a function to IR, like LibTorch's compiler without optimisations.
#pragma once

#include <memory>

#include "script/function.h"
#include "script/ir.h"
#include "script/tree.h"

namespace fxtrace::script {

class Program;

// `self` is the class of a method, null for functions.  Throws Error(kInput) with the position in the code.
std::unique_ptr<IrGraph> compile_function(Program& program, const SyntaxFile& file, const Tree& definition,
                                          Function& function, const TypePtr& self);

}  // namespace fxtrace::script
