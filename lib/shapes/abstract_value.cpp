#include "shapes/abstract_value.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "support/integers.h"

namespace fxtrace::internal {

bool Array::is_constant() const {
  return std::ranges::none_of(elements,
                              [](const Element& element) { return std::holds_alternative<SymInt>(element); });
}

std::vector<SymInt> Array::integers() const {
  constexpr std::int64_t kMostSizes = 16;
  const bool is_list = dim() <= 1 && count() <= kMostSizes && dtype != ScalarType::kBool;
  if (!is_list || !(is_integral(dtype) || holds_sizes(dtype))) return {};
  std::vector<SymInt> result;
  for (const Element& element : elements) {
    if (const auto* integer = std::get_if<std::int64_t>(&element)) {
      result.emplace_back(*integer);
    } else if (const auto* size = std::get_if<SymInt>(&element)) {
      result.push_back(*size);
    } else if (const double real = std::get<double>(element);
               real == std::trunc(real) && std::abs(real) < 1e15) {
      result.emplace_back(static_cast<std::int64_t>(real));
    } else {
      return {};
    }
  }
  return result;
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

bool holds_sizes(ScalarType type) {
  return type == ScalarType::kInt64 || type == ScalarType::kInt32 || type == ScalarType::kFloat64;
}

bool TensorContent::holds() const {
  return std::ranges::all_of(memory, [](const Memory& each) { return *each.writes == each.seen; });
}

bool TensorInfo::is_static() const {
  return std::ranges::all_of(sizes, [](const SymInt& size) { return size.is_number(); });
}

bool AbstractValue::Dict::operator==(const Dict& other) const {
  return keys == other.keys && values == other.values;
}

bool AbstractValue::operator==(const AbstractValue& other) const { return value == other.value; }

void forget_contents(AbstractValue& value) {
  if (auto* info = std::get_if<TensorInfo>(&value.value)) info->content = nullptr;
  if (auto* items = std::get_if<AbstractValue::Sequence>(&value.value))
    std::ranges::for_each(*items, forget_contents);
  if (auto* dict = std::get_if<AbstractValue::Dict>(&value.value)) {
    std::ranges::for_each(dict->values, forget_contents);
  }
}

AbstractValue::Sequence common(const AbstractValue::Sequence& first, const AbstractValue::Sequence& second) {
  AbstractValue::Sequence result;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    result.push_back(common(first[i], second[i]));
  }
  return result;
}

AbstractValue common(const AbstractValue& first, const AbstractValue& second) {
  if (first == second) return first;
  const TensorInfo* tensor = first.tensor();
  const TensorInfo* other = second.tensor();
  if (tensor != nullptr && other != nullptr) {
    if (tensor->sizes != other->sizes || tensor->device != other->device ||
        tensor->sparse_dim != other->sparse_dim) {
      return {};
    }
    TensorInfo both = *tensor;
    if (both.dtype != other->dtype) both.dtype.reset();
    if (both.requires_grad != other->requires_grad) both.requires_grad.reset();
    if (both.contiguous != other->contiguous) both.contiguous.reset();
    both.contiguity_assumed = both.contiguity_assumed || other->contiguity_assumed;
    if (both.content != other->content) both.content = nullptr;
    return {std::move(both)};
  }
  const auto* items = first.sequence();
  const auto* others = second.sequence();
  if (items != nullptr && others != nullptr && items->size() == others->size())
    return {common(*items, *others)};
  return {};
}

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t row = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = row;
    multiply_saturated(row, std::max<std::int64_t>(sizes[i], 1));
  }
  return strides;
}

std::vector<SymInt> contiguous_strides(const std::vector<SymInt>& sizes) {
  std::vector<SymInt> strides(sizes.size());
  SymInt row = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = row;
    row = row * max(SymInt(1), sizes[i]);
  }
  return strides;
}

bool is_contiguous(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
  if (sizes.size() != strides.size()) return false;
  if (std::ranges::find(sizes, 0) != sizes.end()) return true;
  const std::vector<std::int64_t> wanted = contiguous_strides(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && strides[i] != wanted[i]) return false;
  }
  return true;
}

}  // namespace fxtrace::internal
