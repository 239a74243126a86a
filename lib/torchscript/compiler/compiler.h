// Compiles a function to IR, like LibTorch's compiler without optimisations.
#pragma once

#include <memory>

#include "torchscript/ir/function.h"
#include "torchscript/ir/ir.h"
#include "torchscript/language/tree.h"

namespace fxtrace::torchscript {

class Program;

// `self` is the class of a method, null for functions.  Throws Error(kInput) with the position in the code.
std::unique_ptr<IrGraph> compile_function(Program& program, const SyntaxFile& file, const Tree& definition,
                                          Function& function, const TypePtr& self);

}  // namespace fxtrace::torchscript
