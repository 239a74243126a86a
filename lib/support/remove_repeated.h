// Removal of repeated values from a vector whose order matters.
#pragma once

#include <functional>
#include <set>
#include <type_traits>
#include <vector>

namespace fxtrace::internal {

// Keeps the first of values whose keys are equal.
template <class T, class Key = std::identity>
void remove_repeated(std::vector<T>& values, const Key& key = {}) {
  if (values.size() < 2) return;
  std::set<std::decay_t<decltype(key(values[0]))>> seen;
  std::erase_if(values, [&](const T& value) { return !seen.insert(key(value)).second; });
}

}  // namespace fxtrace::internal
