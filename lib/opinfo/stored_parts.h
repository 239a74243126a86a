// Operators on tensor subclasses (torchao), which only exported programs with such tensors contain.
#pragma once

#include <string_view>

namespace fxtrace::internal {

// Returns whether a call of the target, with arguments (tensor, name), returns one of the tensors that the
// subclass stores.
inline bool takes_stored_part(std::string_view target) {
  return target == "export.access_subclass_inner_tensor.default";
}

}  // namespace fxtrace::internal
