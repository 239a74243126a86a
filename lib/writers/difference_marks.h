// What differs between two models, item by item of an outline of both as one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/merged_collection.h"
#include "pictures/outline.h"

namespace fxtrace {

class DifferenceMarks {
 public:
  // The outline must be of merged.collection; both must outlive this.
  DifferenceMarks(const MergedCollection& merged, const Outline& outline);

  // Of a node its own, else that of the module that it calls or a box is.
  std::optional<Change> own(Outline::Index item) const { return own_[item]; }
  // Of a box that is closed also what is in it: of repeats that came or went together that; else, where some
  // of it differs, kChanged.
  std::optional<Change> of_closed(Outline::Index item) const;
  // How many nodes and boxes in it have a mark.
  std::uint32_t inside(Outline::Index item) const { return inside_[item]; }

 private:
  const Outline& outline_;
  std::vector<std::optional<Change>> own_;
  std::vector<std::uint32_t> inside_;
};

}  // namespace fxtrace
