// Reads elements of tensors of all numeric dtypes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::torchscript {

// Returns the elements in row-major order from the little-endian bytes of the tensor's storage: bools, ints,
// floats and complex numbers; uint64 wraps around.  Nothing when the tensor has more than `most` elements, is
// not dense, is quantized, reaches beyond the bytes, or is not numeric.
std::optional<std::vector<Value>> find_elements(const TensorValue& tensor, std::string_view bytes,
                                                std::int64_t most);

// Returns the elements of a constant array: bools, ints or floats.
std::vector<Value> values_of(const Array& array);
// Returns tensor.tolist() of a constant array: nested lists of the type `element`, one for each dimension.
// Nothing when LibTorch would raise, as the elements have another type.
std::optional<Value> find_list(const Array& array, const TypePtr& element);

}  // namespace fxtrace::internal::torchscript
