// Whether code of TorchScript writes to tensors in place.
#pragma once

#include "torchscript/names.h"
#include "torchscript/torchscript_archive.h"

namespace fxtrace::torchscript {

// Of a method of the object, everything that it calls included; where an attribute decides (`inplace`), as it
// is. True where that cannot be told.
bool may_write_tensors(const TorchScriptArchive& archive, const Ref<ObjectValue>& object, Function& method);

}  // namespace fxtrace::torchscript
