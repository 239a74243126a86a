// What differs between two models, item by item of an outline of both as one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/merged_collection.h"
#include "pictures/outline.h"
#include "pictures/repeats.h"

namespace fxtrace {

// Keeps what differs apart from its equals where they are folded.  `merged` may be null.
Distinction distinction_of(const MergedCollection* merged);

class DifferenceMarks {
 public:
  // The outline must be of merged.collection; both must outlive this.
  DifferenceMarks(const MergedCollection& merged, const Outline& outline);

  // Of a node its own, else that of the module that it calls or a box is.
  std::optional<Change> own(Outline::Index item) const { return own_[item]; }
  // Of a box that is closed also what is in it: of repeats that came or went together that; else, where some
  // of it differs, kChanged.
  std::optional<Change> of_closed(Outline::Index item) const;
  // How many things in it differ: what came or went with a box is one with it.
  std::uint32_t inside(Outline::Index item) const { return inside_[item]; }

 private:
  bool is_part_of_change(Outline::Index item) const;

  const Outline& outline_;
  std::vector<std::optional<Change>> own_;
  std::vector<std::uint32_t> inside_;
};

}  // namespace fxtrace
