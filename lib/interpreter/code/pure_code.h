// Tells which TorchScript code is free of side effects.
#pragma once

#include "interpreter/program/names.h"

namespace fxtrace::internal::interpreter {

// Returns whether the node and everything in its blocks only compute results: nothing is written, called or
// raised, and nothing is random.
bool is_pure(const IrNode& node);
bool is_pure(const IrBlock& block);

}  // namespace fxtrace::internal::interpreter
