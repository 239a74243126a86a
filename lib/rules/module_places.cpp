#include "rules/module_places.h"

#include <functional>

#include "support/text/qualified_name.h"

namespace fxtrace::internal {

std::size_t ModulePlaces::Hash::operator()(const Key& key) const {
  return std::hash<std::string_view>()(key.part) * 31 + key.parent;
}

ModulePlaces::ModulePlaces(const GraphCollection& collection) {
  parents_.push_back(kNone);
  depths_.push_back(0);
  records_.push_back(nullptr);
  for (const ModuleRecord& module : collection.modules) {
    Place place = 0;
    for (const std::string_view part : QualifiedName(module.path).parts()) place = child(place, part);
    if (records_[place] == nullptr) records_[place] = &module;
  }
}

ModulePlaces::Place ModulePlaces::child(Place parent, std::string_view part) {
  const auto [entry, is_new] = children_.try_emplace(Key{parent, part}, static_cast<Place>(parents_.size()));
  if (is_new) {
    parents_.push_back(parent);
    depths_.push_back(depths_[parent] + 1);
    records_.push_back(nullptr);
  }
  return entry->second;
}

ModulePlaces::Place ModulePlaces::find_place(std::string_view path) const {
  Place place = 0;
  for (const std::string_view part : QualifiedName(path).parts()) {
    const auto found = children_.find(Key{place, part});
    if (found == children_.end()) break;
    place = found->second;
  }
  return place;
}

ModulePlaces::Place ModulePlaces::common(Place a, Place b) const {
  if (a == kNone || b == kNone) return kNone;
  while (a != b) {
    if (depths_[a] < depths_[b]) {
      b = parents_[b];
    } else {
      a = parents_[a];
    }
  }
  return a;
}

bool ModulePlaces::is_within(Place place, const std::vector<bool>& marks) const {
  for (; place != kNone; place = parents_[place]) {
    if (marks[place]) return true;
  }
  return false;
}

}  // namespace fxtrace::internal
