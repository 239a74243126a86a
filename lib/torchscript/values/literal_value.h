// Converts values of an archive to abstract values, and back.
#pragma once

#include <optional>

#include "shapes/abstract_value.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::torchscript {

// Converts a number or a string; unknown for any other value.
AbstractValue literal_value(const Value& value);
// Converts, besides, None, devices, tensors with their elements, and lists of all these.
AbstractValue abstract_value(const Value& value);
// Returns the shape and dtype of a tensor; nothing when TensorInfo cannot express its layout.
std::optional<TensorInfo> tensor_info(const TensorValue& tensor);
// Converts back a known number or string; returns None for anything else.
Value plain_value(const AbstractValue& value);

}  // namespace fxtrace::internal::torchscript
