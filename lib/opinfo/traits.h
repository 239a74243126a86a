// Traits of operators: those that LibTorch's tags give, and those of the operator's row in its family.
#pragma once

#include "operators/operators.h"

namespace fxtrace::internal {

// Computes the traits of an operator, for the code that makes its entry (operator_entry.h); others ask
// traits_of().
Traits table_traits(const Operator& op);
// Returns the operator's traits; none for null.
Traits traits_of(const Operator* op);
inline bool has_trait(const Operator* op, Traits trait) { return (traits_of(op) & trait) != 0; }

// Returns whether the operator writes to an argument, or may.
bool may_write(const Operator* op);
// Returns whether the results depend on the arguments alone and there are no side effects, so that unused
// calls can be removed and equal calls merged.  Results may alias arguments.
bool is_pure(const Operator* op);

}  // namespace fxtrace::internal
