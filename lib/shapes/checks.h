// What LibTorch's kernels for the CPU check of their arguments besides what rules do.
#pragma once

#include "shapes/rules.h"

namespace fxtrace {

// Throws Raises where torch raises for every value that the arguments may have.
void check_call(const RuleArguments& args);

}  // namespace fxtrace
