// Compares the code of two functions.
#pragma once

#include "interpreter/program/names.h"
#include "interpreter/program/torchscript_archive.h"

namespace fxtrace::internal::interpreter {

// Returns whether two functions have the same code, up to the names of values.  Functions and methods that
// they call are compared in the same way; methods of different modules differ.
bool have_same_code(const TorchScriptArchive& archive, Function& first, Function& second);

}  // namespace fxtrace::internal::interpreter
