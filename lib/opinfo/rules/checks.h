// Checks of arguments that LibTorch's CPU kernels make in addition to those of the shape rules.
#pragma once

#include "opinfo/rules/shape_rules.h"

namespace fxtrace::internal {

// Runs all checks of the operator's row and traits.  Throws Raises when torch would raise for all possible
// values of the arguments.
void check_call(const RuleArguments& args);

// Checks the first argument of operators whose CPU kernels support floating dtypes only.
void check_floating(const RuleArguments& args);

// Checks that the first argument has the dimension `dim`.
void check_dim(const RuleArguments& args);

}  // namespace fxtrace::internal
