#include "torchscript/values/tensor_value.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "archive/little_endian.h"
#include "shapes/contiguous.h"

namespace fxtrace::internal::torchscript {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Element element_at(ScalarType dtype, const char* bytes) {
  constexpr unsigned kByte = 8, kBits = 64;
  const auto size = static_cast<std::size_t>(item_size(dtype));
  const std::uint64_t bits = little_endian({bytes, size}, 0, static_cast<int>(size));
  if (dtype == ScalarType::kFloat32) return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
  if (dtype == ScalarType::kFloat64) return std::bit_cast<double>(bits);
  if (dtype == ScalarType::kBool) return std::int64_t{bits != 0};
  const unsigned unused = kBits - kByte * static_cast<unsigned>(size);
  const auto shifted = static_cast<std::int64_t>(bits << unused);
  return dtype == ScalarType::kUint8 ? static_cast<std::int64_t>(bits) : shifted >> unused;
}

// Returns the position in the storage, in elements, of the element with a row-major index.
std::int64_t position_of(const TensorValue& tensor, std::int64_t place) {
  std::int64_t position = tensor.offset;
  for (std::size_t i = tensor.sizes.size(); i > 0; --i) {
    position += place % tensor.sizes[i - 1] * tensor.strides[i - 1];
    place /= tensor.sizes[i - 1];
  }
  return position;
}

// Returns the position in the storage of the last element; nothing when it exceeds 63 bits.
std::optional<std::int64_t> last_position(const TensorValue& tensor) {
  std::int64_t position = tensor.offset;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    std::int64_t way = 0;
    if (tensor.strides[i] < 0 || __builtin_mul_overflow(tensor.sizes[i] - 1, tensor.strides[i], &way) ||
        __builtin_add_overflow(position, way, &position))
      return std::nullopt;
  }
  return position;
}

}  // namespace

std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& sizes) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

std::int64_t TensorValue::numel() const { return element_count(sizes).value_or(kMost); }

bool TensorValue::is_contiguous() const {
  return layout == TensorLayout::kStrided && internal::is_contiguous(sizes, strides);
}

TensorRef with_elements(const TensorValue& tensor, std::string_view bytes) {
  const std::int64_t count = tensor.numel();
  const bool is_plain = tensor.layout == TensorLayout::kStrided && !is_quantized(tensor.dtype) &&
                        !tensor.is_conjugated && !tensor.is_negated;
  if (!is_plain || !is_known_type(tensor.dtype) || count > kMaxKnownElements || tensor.offset < 0)
    return nullptr;
  const std::int64_t size = item_size(tensor.dtype);
  if (count > 0) {
    const auto last = last_position(tensor);
    if (!last || *last >= static_cast<std::int64_t>(bytes.size()) / size) return nullptr;
  }
  auto result = make_counted<TensorValue>();
  result->dtype = tensor.dtype;
  result->requires_grad = tensor.requires_grad;
  result->sizes = tensor.sizes;
  result->strides = count > 0 ? tensor.strides : contiguous_strides(tensor.sizes);
  Array array{tensor.dtype, tensor.sizes, {}};
  for (std::int64_t place = 0; place < count; ++place)
    array.elements.push_back(element_at(tensor.dtype, bytes.data() + position_of(tensor, place) * size));
  result->elements = std::make_shared<const Array>(std::move(array));
  return result;
}

}  // namespace fxtrace::internal::torchscript
