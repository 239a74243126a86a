// Tensors of an archive, and small ones whose elements are known.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shapes/abstract_value.h"
#include "shapes/tensor_options.h"
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

// Reads elements of tensors of all numeric dtypes.

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

// Parses names of devices: "cpu", "cuda:1".

struct DeviceText {
  std::optional<Device> device;
  std::string why;  // LibTorch's error message when there is no such device
};

// Parses a device as torch.device(text) does: only devices that LibTorch knows.
DeviceText read_device(std::string_view text);
// Parses a device on which an archive was saved, which may be one of other vendors ("npu:0").
DeviceText read_saved_device(std::string_view text);

// Converts values of an archive to abstract values, and back.

// Converts a number or a string; unknown for any other value.
AbstractValue literal_value(const Value& value);
// Converts, besides, None, devices, tensors with their elements, and lists of all these.
AbstractValue abstract_value(const Value& value);
// Returns the shape and dtype of a tensor; nothing when TensorInfo cannot express its layout.
std::optional<TensorInfo> tensor_info(const TensorValue& tensor);
// Converts back a known number or string; returns None for anything else.
Value plain_value(const AbstractValue& value);

}  // namespace fxtrace::internal::torchscript
