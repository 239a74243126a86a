// What code of TorchScript does besides giving its results.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace fxtrace {

// The node, and all in its blocks, only computes results: nothing is written, called or raised, and nothing
// is random.
bool is_pure(const torch::jit::Node& node);
bool is_pure(const torch::jit::Block& block);

}  // namespace fxtrace
