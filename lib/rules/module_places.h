// Module places: the modules of a collection as a tree, to decide which module is inside of which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// A place is a module, or a part of a path that no module has.  The collection must outlive the tree.  Each
// function takes time linear in its path, or in the depth of its places.
class ModulePlaces {
 public:
  using Place = std::uint32_t;
  static constexpr Place kNone = UINT32_MAX;  // outside of the model

  explicit ModulePlaces(const GraphCollection& collection);

  std::size_t size() const { return parents_.size(); }
  // Returns the innermost place whose path is `path` or above it.
  Place find_place(std::string_view path) const;
  Place parent(Place place) const { return parents_[place]; }                // kNone for the root's
  const ModuleRecord* record(Place place) const { return records_[place]; }  // null when there is none
  // Returns the innermost place that is equal to or around both; kNone when one of them is kNone.
  Place common(Place a, Place b) const;
  // Returns whether `marks` holds for the place or for one around it.
  bool is_within(Place place, const std::vector<bool>& marks) const;

 private:
  struct Key {
    Place parent;
    std::string_view part;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  Place child(Place parent, std::string_view part);

  std::vector<Place> parents_;
  std::vector<std::uint32_t> depths_;
  std::vector<const ModuleRecord*> records_;
  std::unordered_map<Key, Place, Hash> children_;
};

}  // namespace fxtrace::internal
