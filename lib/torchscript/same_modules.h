// Modules that an archive has under several names.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "torchscript/names.h"

namespace fxtrace::torchscript {

// Tied tensors are separate ones over the same bytes: equal for these, and for no others.
std::string tensor_identity(const TensorValue& tensor);

using ModuleObject = Ref<ObjectValue>;

// torch.jit saves a module that has two names as two: of one type, over the same tensors, with equal
// attributes.  By object, the one that stands for all: the first of them that has code to call.  Modules that
// have no tensor of their own or below are never the same: nothing tells two ReLUs from one.  `has_state`: an
// object's attributes are still to be filled, which says nothing of them.
std::unordered_map<const ObjectValue*, ModuleObject> find_same_modules(
    const ModuleObject& root, const std::function<bool(const ObjectValue*)>& has_state);

}  // namespace fxtrace::torchscript
