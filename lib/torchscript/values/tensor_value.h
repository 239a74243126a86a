// Tensors of an archive, and small ones whose elements are known.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shapes/array.h"
#include "shapes/device.h"
#include "shapes/scalar_type.h"
#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {

// Layouts, in the order of LibTorch's numbers, which represent them in TorchScript.
enum class TensorLayout : std::uint8_t {
  kStrided,
  kSparseCoo,
  kSparseCsr,
  kMkldnn,
  kSparseCsc,
  kSparseBsr,
  kSparseBsc,
  kJagged
};

// The storage of one or more tensors: a record of the archive.
struct TensorStorage {
  std::string record;       // "data/3", without the archive's folder
  Device device;            // the device on which it was saved
  std::uint64_t bytes = 0;  // size of the record; on the device meta the size that its tensors need
};

// A tensor, which never changes: operators that write to tensors are not executed.
struct TensorValue : RefCounted {
  ScalarType dtype = ScalarType::kFloat32;
  TensorLayout layout = TensorLayout::kStrided;
  bool requires_grad = false;
  bool is_conjugated = false, is_negated = false;  // values are the conjugate or negation of those in memory
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  // as many as sizes; empty for sparse tensors
  std::int64_t offset = 0;            // storage offset of the first element, in elements
  // At most one of these is set; neither for a sparse tensor, or one on a device without bytes.
  std::shared_ptr<const TensorStorage> storage;
  std::shared_ptr<const Array> elements;  // of a small tensor, in memory
  std::vector<Ref<TensorValue>> parts;    // of a sparse tensor: indices (compressed ones first), values
  // The quantization of a quantized tensor.  If it is by axis, scales and zero points are tensors.
  struct Quantization {
    std::int64_t scheme = 0;  // as in the pickle
    double scale = 1;
    std::int64_t zero_point = 0;
    std::optional<std::int64_t> axis = {};
  };
  std::optional<Quantization> quantization;
  std::vector<Ref<TensorValue>> scales_and_zeros;

  std::int64_t dim() const { return static_cast<std::int64_t>(sizes.size()); }
  std::int64_t numel() const;  // at most INT64_MAX
  bool is_contiguous() const;
  Device device() const { return storage ? storage->device : Device{}; }
};

using TensorRef = Ref<TensorValue>;

// Returns the product of non-negative sizes; nothing when it exceeds 63 bits.
std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& sizes);

// Returns the tensor with its elements in memory, read from the little-endian bytes of its storage.  Null
// when it is not small, has another dtype, or reaches beyond the bytes.
TensorRef with_elements(const TensorValue& tensor, std::string_view bytes);

}  // namespace fxtrace::internal::torchscript
