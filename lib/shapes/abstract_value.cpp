#include "shapes/abstract_value.h"

#include <algorithm>

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
