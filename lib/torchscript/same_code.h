#pragma once

#include "torchscript/names.h"
#include "torchscript/torchscript_archive.h"

namespace fxtrace::torchscript {

// Whether two functions do the same, step by step, whatever their values are called.  Functions and methods
// that they call are compared in the same way; a method of another module is another one.
bool have_same_code(const TorchScriptArchive& archive, Function& first, Function& second);

}  // namespace fxtrace::torchscript
