// What LibTorch's kernels for the CPU check of their arguments besides what rules do.
#pragma once

#include "families/shape_rules.h"

namespace fxtrace {

// Throws Raises where torch raises for every value that the arguments may have.
void check_call(const RuleArguments& args);

// Of an operator whose kernels for the CPU are for floating types alone.
void check_floating(const RuleArguments& args);

}  // namespace fxtrace
