// Whether code of TorchScript writes to tensors in place.
#pragma once

#include <ATen/core/function.h>
#include <ATen/core/ivalue.h>

namespace fxtrace {

// Of a method of the object, everything that it calls included; where an attribute decides (`inplace`), as it
// is. True where that cannot be told.
bool may_write_tensors(const c10::intrusive_ptr<c10::ivalue::Object>& object, torch::jit::Function& method);

}  // namespace fxtrace
