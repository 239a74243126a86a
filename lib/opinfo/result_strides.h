// Stride rules: for each operator, how the strides of its result follow from those of its tensors, as torch
// lays them out on a CPU.
#pragma once

#include <cstdint>

namespace fxtrace::internal {

// The row of an operator names a rule; analysis/layout/stride_rules.cpp has them, in this order.
enum class StrideRule : std::uint8_t {
  kNone,
  // ---- Views ----
  kSame,      // those of the first tensor
  kPermuted,  // the dimensions in another order: the shape rule tells which
  kExpanded,
  kComplexPart,  // every other number, where there are two
  kPairs,        // the last dimension has the two numbers of a complex one
  kSliced,
  kSelected,
  kUnsqueezed,
  kSqueezed,
  kViewed,
  kReshaped,  // a view, or a contiguous copy
  kDiagonal,
  kWindows,  // unfold()
  kAsGiven,  // by the argument `stride`
  // ---- Copies ----
  kCopied,      // in the memory format that the call names, else in the first's
  kContiguous,  // or in the memory format that the call names
  kConverted,   // to(): the tensor itself if nothing changes
  kDroppedOut,  // the tensor itself outside of training
  // ---- Kernels: another version of torch, or another device, may do it in another way ----
  kPointwise,  // by TensorIterator
  kComplex,    // the same
  kAttended,   // [batch, heads, length, features] as [batch, length, heads, ...]
  kRecurrent,  // with batch_first, the sequence is still outermost in memory
  kImages,     // in the memory format that the first tensor, or the weight, suggests
  kJoined      // in the format that all tensors suggest
};

}  // namespace fxtrace::internal
