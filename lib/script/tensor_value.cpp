#include "script/tensor_value.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "archive/little_endian.h"

namespace fxtrace::script {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TensorElement element_at(ScalarType dtype, const char* bytes) {
  constexpr unsigned kByte = 8, kBits = 64;
  TensorElement element;
  const auto size = static_cast<std::size_t>(item_size(dtype));
  const std::uint64_t bits = little_endian({bytes, size}, 0, static_cast<int>(size));
  if (dtype == ScalarType::kFloat32) {
    element.real = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else if (dtype == ScalarType::kFloat64) {
    element.real = std::bit_cast<double>(bits);
  } else if (dtype == ScalarType::kBool) {
    element.integer = bits != 0 ? 1 : 0;
  } else {
    const unsigned unused = kBits - kByte * static_cast<unsigned>(size);
    const auto shifted = static_cast<std::int64_t>(bits << unused);
    element.integer = dtype == ScalarType::kUint8 ? static_cast<std::int64_t>(bits) : shifted >> unused;
  }
  return element;
}

// Position of an element among those of the storage, by row-major index.
std::int64_t position_of(const TensorValue& tensor, std::int64_t place) {
  std::int64_t position = tensor.offset;
  for (std::size_t i = tensor.sizes.size(); i > 0; --i) {
    position += place % tensor.sizes[i - 1] * tensor.strides[i - 1];
    place /= tensor.sizes[i - 1];
  }
  return position;
}

// Position of the last element among those of the storage; nothing when it has more than 63 bits.
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

std::optional<std::vector<std::int64_t>> contiguous_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i > 0; --i) {
    strides[i - 1] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(sizes[i - 1], 1), &stride) && i > 1)
      return std::nullopt;
  }
  return strides;
}

bool is_known_type(ScalarType type) {
  switch (type) {
    case ScalarType::kBool:
    case ScalarType::kUint8:
    case ScalarType::kInt8:
    case ScalarType::kInt16:
    case ScalarType::kInt32:
    case ScalarType::kInt64:
    case ScalarType::kFloat32:
    case ScalarType::kFloat64:
      return true;
    default:
      return false;
  }
}

std::int64_t TensorValue::numel() const { return element_count(sizes).value_or(kMost); }

bool TensorValue::is_contiguous() const {
  if (layout != TensorLayout::kStrided || strides.size() != sizes.size()) return false;
  if (std::ranges::find(sizes, 0) != sizes.end()) return true;
  std::int64_t expected = 1;
  for (std::size_t i = sizes.size(); i > 0; --i) {
    if (sizes[i - 1] == 1) continue;
    if (strides[i - 1] != expected || __builtin_mul_overflow(expected, sizes[i - 1], &expected)) return false;
  }
  return true;
}

TensorElement TensorValue::element(std::int64_t place) const {
  return elements->at(static_cast<std::size_t>(position_of(*this, place)));
}

TensorRef make_tensor(ScalarType dtype, std::vector<std::int64_t> sizes,
                      std::vector<TensorElement> elements) {
  auto tensor = make_counted<TensorValue>();
  tensor->dtype = dtype;
  tensor->strides = contiguous_strides(sizes).value();
  tensor->sizes = std::move(sizes);
  tensor->elements = std::make_shared<const std::vector<TensorElement>>(std::move(elements));
  return tensor;
}

TensorRef with_elements(const TensorValue& tensor, std::string_view bytes) {
  const std::int64_t count = tensor.numel();
  const bool is_plain = tensor.layout == TensorLayout::kStrided && !is_quantized(tensor.dtype) &&
                        !tensor.is_conjugated && !tensor.is_negated;
  if (!is_plain || !is_known_type(tensor.dtype) || count > kMaxKnownElements || tensor.offset < 0)
    return nullptr;
  const std::int64_t size = item_size(tensor.dtype);
  std::int64_t first = tensor.offset, last = tensor.offset;
  if (count > 0) {
    const auto found = last_position(tensor);
    if (!found || *found >= static_cast<std::int64_t>(bytes.size()) / size) return nullptr;
    last = *found;
  }
  auto result = make_counted<TensorValue>();
  result->dtype = tensor.dtype;
  result->requires_grad = tensor.requires_grad;
  result->sizes = tensor.sizes;
  result->strides = tensor.strides;
  if (count == 0) result->strides = contiguous_strides(tensor.sizes).value_or(tensor.strides);
  constexpr std::int64_t kMaxSpread = 4096;  // elements between the first and the last
  std::vector<TensorElement> elements;
  if (count > 0 && last - first <= kMaxSpread) {
    for (std::int64_t i = first; i <= last; ++i)
      elements.push_back(element_at(tensor.dtype, bytes.data() + i * size));
  } else if (count > 0) {
    result->is_layout_known = false;
    result->strides = contiguous_strides(tensor.sizes).value();
    for (std::int64_t place = 0; place < count; ++place)
      elements.push_back(element_at(tensor.dtype, bytes.data() + position_of(tensor, place) * size));
  }
  result->elements = std::make_shared<const std::vector<TensorElement>>(std::move(elements));
  return result;
}

std::vector<TensorElement> elements_of(const TensorValue& tensor) {
  const std::int64_t count = tensor.numel();
  std::vector<TensorElement> result;
  result.reserve(static_cast<std::size_t>(count));
  for (std::int64_t place = 0; place < count; ++place) result.push_back(tensor.element(place));
  return result;
}

Value element_value(ScalarType dtype, TensorElement element) {
  if (dtype == ScalarType::kBool) return element.integer != 0;
  return is_integral(dtype) ? Value(element.integer) : Value(element.real);
}

}  // namespace fxtrace::script
