// Equal siblings as one box, and too many siblings as a few.
#pragma once

#include <cstdint>
#include <vector>

#include "pictures/outline.h"

namespace fxtrace {

// Hashes of what is in an item, names left out: equal for the calls of two modules that do the same, but for
// collisions.
struct Structure {
  std::uint64_t exact = 0;  // with sizes, dtypes and all other arguments
  std::uint64_t loose = 0;  // without sizes and numbers: two stages of a network with other widths
};
// By item.
std::vector<Structure> find_structures(const Outline& outline);

// Puts what equals the sibling in front of it into boxes of kind kRepeats: of h.0, h.1, ..., h.11 all but
// h.0.  Where a row repeats with a period of several items (a block and an addition, the iterations of a
// loop), each repetition becomes a box of kind kPeriod first.  Single nodes need four repetitions.
void fold_repeats(Outline& outline, const std::vector<Structure>& structures);

// Where a box has more than `limit` children, operations in a row become a box of kind kPart, and where that
// is not enough, whatever stands in a row; several levels of them if need be.
void split_large(Outline& outline, std::size_t limit);

}  // namespace fxtrace
