// What code does besides computing results: to lists and dicts that it is given, and to tensors.
#pragma once

#include <vector>

#include "interpreter/program/names.h"
#include "interpreter/program/torchscript_archive.h"

namespace fxtrace::internal::interpreter {

// Tells what TorchScript code may do with the lists and dicts that it is given.

// Returns whether the type may be that of a list or dict, or of a value that holds one.
bool may_hold_container(const Type& type);

struct ContainerUse {
  bool keeps = false;  // may change one, or keep it beyond the call
  bool gives = false;  // a result may be one, or hold one
};
// Returns what the function, or anything that it calls, may do with the lists and dicts that these of its
// arguments are or hold, attributes of objects included.  True when that cannot be told.
ContainerUse container_use(const TorchScriptArchive& archive, Function& function,
                           const std::vector<bool>& given);

// Tells whether TorchScript code writes to tensors in place.

// Returns whether the method of the object, or anything it calls, may write to a tensor in place; attributes
// that decide (`inplace`) are read.  True when that cannot be told.
bool may_write_tensors(const TorchScriptArchive& archive, const Ref<ObjectValue>& object, Function& method);

// Tells which TorchScript code is free of side effects.

// Returns whether the node and everything in its blocks only compute results: nothing is written, called or
// raised, and nothing is random.
bool is_pure(const IrNode& node);
bool is_pure(const IrBlock& block);

}  // namespace fxtrace::internal::interpreter
