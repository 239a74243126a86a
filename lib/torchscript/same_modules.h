// Finds modules that an archive has under several names.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "torchscript/names.h"

namespace fxtrace::torchscript {

// Returns a key that is equal exactly for tied tensors, which an archive has as separate tensors over the
// same storage.
std::string tensor_identity(const TensorValue& tensor);

using ModuleObject = Ref<ObjectValue>;

// Maps each module object that is one of several copies of a shared module to the copy that stands for all:
// the first that has code to call.  torch.jit saves a module with two names as two objects of one type, over
// the same tensors, with equal attributes.  Modules without any tensor, even below, are never merged, as two
// ReLUs look the same as a shared one.  `has_state` tells that an object's attributes are not filled in yet
// and cannot be compared.
std::unordered_map<const ObjectValue*, ModuleObject> find_same_modules(
    const ModuleObject& root, const std::function<bool(const ObjectValue*)>& has_state);

}  // namespace fxtrace::torchscript
