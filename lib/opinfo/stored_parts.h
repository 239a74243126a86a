// Operators that only programs with tensors of classes of their own have (torchao).
#pragma once

#include <string_view>

namespace fxtrace {

// Returns whether the target takes one of the tensors out of such a tensor: of (tensor, name).
inline bool takes_stored_part(std::string_view target) {
  return target == "export.access_subclass_inner_tensor.default";
}

}  // namespace fxtrace
