// What an operator does, from torch's tags and its family's row.
#pragma once

#include "operators/operators.h"

namespace fxtrace {

// None for null.
Traits traits_of(const Operator* op);
inline bool has_trait(const Operator* op, Traits trait) { return (traits_of(op) & trait) != 0; }

// Writes an argument, or may.
bool may_write(const Operator* op);
// Its results depend on its arguments alone, and nothing else happens: it may be left out where they are not
// used, and done once where it is done twice.  Its results may alias its arguments.
bool is_pure(const Operator* op);

}  // namespace fxtrace
