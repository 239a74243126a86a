// Records with equal keys as one.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fxtrace::internal {

// Folds records that have a path and equal keys into one.

// Keeps the first record of each key, in the order of the records.  Where there were several, `alike` has the
// paths of all of them, the first included.  `Record` has std::string path and std::vector<std::string>
// alike.
template <class Record, class KeyOf>
void fold_by_key(std::vector<Record>& records, const KeyOf& key_of) {
  std::unordered_map<std::string, std::size_t> places;
  std::vector<Record> folded;
  for (Record& record : records) {
    const auto [entry, is_new] = places.try_emplace(key_of(record), folded.size());
    if (is_new) {
      folded.push_back(std::move(record));
      continue;
    }
    std::vector<std::string>& alike = folded[entry->second].alike;
    if (alike.empty()) alike.push_back(folded[entry->second].path);
    alike.push_back(std::move(record.path));
  }
  records = std::move(folded);
}

// Removal of repeated values from a vector whose order matters.

// Keeps the first of values whose keys are equal.
template <class T, class Key = std::identity>
void remove_repeated(std::vector<T>& values, const Key& key = {}) {
  if (values.size() < 2) return;
  std::set<std::decay_t<decltype(key(values[0]))>> seen;
  std::erase_if(values, [&](const T& value) { return !seen.insert(key(value)).second; });
}

}  // namespace fxtrace::internal
