#pragma once

#include <ATen/core/function.h>

namespace fxtrace {

// Whether two functions do the same, step by step, whatever their values are called.  Functions and methods
// that they call are compared in the same way; a method of another module is another one.
bool have_same_code(torch::jit::Function& first, torch::jit::Function& second);

}  // namespace fxtrace
