// Functions that a graph may name as they are: torch still has them.
#pragma once

#include <string_view>

namespace fxtrace {

// Whether PyTorch 2.13 has this function ("torch.nn.functional.relu") in torch.functional or
// torch.nn.functional. Archives of other versions have private ones besides ("torch.nn.functional._pad"),
// which nobody can call today.
bool is_torch_function(std::string_view qualified_name);

}  // namespace fxtrace
