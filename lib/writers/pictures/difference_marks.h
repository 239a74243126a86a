// The differences between two models, by item of an outline of both models merged into one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/merged_collection.h"
#include "pictures/outline.h"
#include "pictures/repeats.h"

namespace fxtrace {

// Returns a distinction that keeps items that differ apart from equal ones when repeats are folded.  `merged`
// may be null.
Distinction distinction_of(const MergedCollection* merged);

class DifferenceMarks {
 public:
  // The outline must be of merged.collection; both must outlive this.
  DifferenceMarks(const MergedCollection& merged, const Outline& outline);

  // Returns the change of the item itself: that of its node, or else of the module that it is or calls.
  std::optional<Change> own(Outline::Index item) const { return own_[item]; }
  // Returns the change to show for a closed box: its own; or for repeats that were all added or all removed,
  // that; or kChanged if something in it differs.
  std::optional<Change> of_closed(Outline::Index item) const;
  // Returns the number of differences in the box; a box that was added or removed counts as one with its
  // content.
  std::uint32_t inside(Outline::Index item) const { return inside_[item]; }

 private:
  bool is_part_of_change(Outline::Index item) const;

  const Outline& outline_;
  std::vector<std::optional<Change>> own_;
  std::vector<std::uint32_t> inside_;
};

}  // namespace fxtrace
