// Converts constants of the IR to run-time values.
#pragma once

#include <span>

#include "torchscript/language/constant.h"
#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {

// Returns a new value, which shares nothing but entries of the archive's table.  Throws Error(kInput) for an
// entry that the table does not have.
Value value_of(const ScriptConstant& constant, std::span<const Value> table = {});

}  // namespace fxtrace::internal::torchscript
