#include "torchscript/shapes/known.h"

#include <algorithm>

namespace fxtrace {

bool TensorInfo::is_static() const {
  return std::ranges::all_of(sizes, [](const SymInt& size) { return size.is_number(); });
}

bool Known::Dict::operator==(const Dict& other) const { return keys == other.keys && values == other.values; }

bool Known::operator==(const Known& other) const { return value == other.value; }

void forget_contents(Known& known) {
  if (auto* info = std::get_if<TensorInfo>(&known.value)) info->content = nullptr;
  if (auto* items = std::get_if<Known::Sequence>(&known.value))
    std::ranges::for_each(*items, forget_contents);
  if (auto* dict = std::get_if<Known::Dict>(&known.value)) {
    std::ranges::for_each(dict->values, forget_contents);
  }
}

Known::Sequence common(const Known::Sequence& first, const Known::Sequence& second) {
  Known::Sequence result;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    result.push_back(common(first[i], second[i]));
  }
  return result;
}

Known common(const Known& first, const Known& second) {
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

}  // namespace fxtrace
