// The allow list of torch functions for generated source: functions that exist and do nothing but compute.
#pragma once

#include <span>
#include <string_view>

#include "operators/names/name_table.h"

namespace fxtrace::internal {

// Returns whether PyTorch 2.13 has this function ("torch.nn.functional.relu", "torch.Tensor.add"), and it
// neither reads or writes files, runs other code, nor changes the process.  scripts/torch_functions generates
// the table.
bool is_torch_function(std::string_view qualified_name);
std::span<const NamesOfSpace> torch_functions();

}  // namespace fxtrace::internal
