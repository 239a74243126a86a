// Tells whether TorchScript code writes to tensors in place.
#pragma once

#include "interpreter/program/names.h"
#include "interpreter/program/torchscript_archive.h"

namespace fxtrace::internal::interpreter {

// Returns whether the method of the object, or anything it calls, may write to a tensor in place; attributes
// that decide (`inplace`) are read.  True when that cannot be told.
bool may_write_tensors(const TorchScriptArchive& archive, const Ref<ObjectValue>& object, Function& method);

}  // namespace fxtrace::internal::interpreter
