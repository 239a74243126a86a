// Arguments of LibTorch's kernels, which are called on small tensors to learn what a graph's values are.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <cstdint>

namespace fxtrace {

inline constexpr std::int64_t kMaxComputed = 64;  // elements of a tensor whose values are computed

// Dense, on the CPU, of numbers, and small.
bool is_small(const at::Tensor& tensor);

// Whether a kernel may see these arguments: dtypes, layouts and memory formats are looked up in tables
// whatever their number is, other layouts and quantized types ask for what nobody has made, and the smallest
// integer divided by -1 ends the process.
bool are_harmless(const c10::FunctionSchema& schema, c10::ArrayRef<at::IValue> arguments);

}  // namespace fxtrace
