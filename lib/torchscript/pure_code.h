// What code of TorchScript does besides giving its results.
#pragma once

#include "torchscript/names.h"

namespace fxtrace::torchscript {

// The node, and all in its blocks, only computes results: nothing is written, called or raised, and nothing
// is random.
bool is_pure(const IrNode& node);
bool is_pure(const IrBlock& block);

}  // namespace fxtrace::torchscript
