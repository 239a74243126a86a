// Functions of torch that a graph may name as they are: torch still has them, and they do nothing but
// compute.
#pragma once

#include <string_view>

namespace fxtrace {

// Whether PyTorch 2.13 has this function ("torch.nn.functional.relu", "torch.Tensor.add") and it neither
// loads nor writes files, runs other code nor changes the process.  The table is written by
// scripts/torch_functions.
bool is_torch_function(std::string_view qualified_name);

}  // namespace fxtrace
