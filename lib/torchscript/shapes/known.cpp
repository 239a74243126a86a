#include "torchscript/shapes/known.h"

#include <algorithm>

namespace fxtrace {

bool TensorInfo::is_static() const {
  return std::ranges::all_of(sizes, [](const SymInt& size) { return size.is_number(); });
}

bool Known::Dict::operator==(const Dict& other) const { return keys == other.keys && values == other.values; }

bool Known::operator==(const Known& other) const { return value == other.value; }

Known::Sequence common(const Known::Sequence& first, const Known::Sequence& second) {
  Known::Sequence result;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    result.push_back(common(first[i], second[i]));
  }
  return result;
}

Known common(const Known& first, const Known& second) {
  if (first == second) return first;
  const auto* items = first.sequence();
  const auto* others = second.sequence();
  if (items != nullptr && others != nullptr && items->size() == others->size())
    return {common(*items, *others)};
  return {};
}

}  // namespace fxtrace
