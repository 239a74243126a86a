// Elements of tensors of every dtype that has numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "script/tensor_value.h"

namespace fxtrace::script {

// In row-major order, out of the bytes of the tensor's storage in little endian order: bools, ints, floats
// and complex numbers.  Unsigned ones of 64 bits wrap around.  Nothing of a tensor that has more than `most`,
// that is not dense or is quantized, that reaches beyond the bytes, or whose elements are no numbers.
std::optional<std::vector<Value>> find_elements(const TensorValue& tensor, std::string_view bytes,
                                                std::int64_t most);

// tensor.tolist() of a tensor whose elements are in memory: a list for each dimension, of the type `element`
// inside. Nothing where LibTorch raises: elements of another type.
std::optional<Value> find_list(const TensorValue& tensor, const TypePtr& element);

}  // namespace fxtrace::script
