// Tensors of an archive, and small ones whose elements are known.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "script/value.h"
#include "shapes/device.h"
#include "shapes/scalar_type.h"

namespace fxtrace::script {

// In the order of LibTorch's numbers, which TorchScript has in their place.
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

// Memory of one or more tensors: a record of the archive.
struct TensorStorage {
  std::string record;       // "data/3", without the archive's folder
  Device device;            // on which it was saved
  std::uint64_t bytes = 0;  // that the record has; of device meta: what its tensors need
};

// An element, by the tensor's dtype: `integer` of integers and bools, `real` of floats.
union TensorElement {
  std::int64_t integer = 0;
  double real;
};

// What makes a quantized tensor's numbers real ones.
struct Quantization {
  bool per_channel = false;
  double scale = 1;
  std::int64_t zero_point = 0;
  std::int64_t axis = 0;                 // of those by channel
  Ref<TensorValue> scales, zero_points;  // likewise
};

// It does not change once it is made; an operator that writes a tensor is not carried out on it.
struct TensorValue : Counted {
  ScalarType dtype = ScalarType::kFloat32;
  TensorLayout layout = TensorLayout::kStrided;
  bool requires_grad = false;
  bool is_conjugated = false, is_negated = false;  // what is read is that of what stands in memory
  // False: the elements are in the order of `strides`, but LibTorch may have them in another.
  bool is_layout_known = true;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  // as many as sizes; none of sparse tensors
  std::int64_t offset = 0;            // of the first element, in elements
  // One of the two, or neither: of a sparse tensor, or of one on another device without bytes.
  std::shared_ptr<const TensorStorage> storage;
  std::shared_ptr<const std::vector<TensorElement>> elements;  // in memory; views share them
  std::shared_ptr<const Quantization> quantization;
  std::vector<Ref<TensorValue>> parts;  // of a sparse one: indices and values, or compressed and plain ones

  std::int64_t dim() const { return static_cast<std::int64_t>(sizes.size()); }
  std::int64_t numel() const;  // at most INT64_MAX
  bool is_contiguous() const;
  Device device() const { return storage ? storage->device : Device{}; }
  // Element by its place in row-major order; of a tensor whose elements are in memory.
  TensorElement element(std::int64_t place) const;
};

using TensorRef = Ref<TensorValue>;

inline constexpr std::int64_t kMaxKnownElements = 64;  // of a tensor whose elements are kept in memory

// Strides of a tensor that has its elements in row-major order; nothing when they exceed 64 bits.
std::optional<std::vector<std::int64_t>> contiguous_strides(const std::vector<std::int64_t>& sizes);
// Product of sizes, which are not negative; nothing when it has more than 63 bits.
std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& sizes);

// A dtype whose elements can be in memory: bool, integers of up to 64 bits but uint16 to uint64, float32 and
// float64.
bool is_known_type(ScalarType type);

// `elements` in row-major order, as many as the sizes say.
TensorRef make_tensor(ScalarType dtype, std::vector<std::int64_t> sizes, std::vector<TensorElement> elements);
// Of the bytes of its storage, in little endian order: the same tensor with its elements in memory.  Null
// when it is not small, of another type, or reaches beyond the bytes.
TensorRef with_elements(const TensorValue& tensor, std::string_view bytes);
// All elements in row-major order; of a tensor whose elements are in memory.
std::vector<TensorElement> elements_of(const TensorValue& tensor);
// One of them as a value: bool, int or float.
Value element_value(ScalarType dtype, TensorElement element);

}  // namespace fxtrace::script
