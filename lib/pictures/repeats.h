// Folding of equal siblings into one box, and grouping of siblings when there are too many.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pictures/outline.h"

namespace fxtrace::internal {

// Structural hashes of an item's content, without names: equal, barring collisions, for calls of modules
// that do the same.
struct Structure {
  std::uint64_t exact = 0;  // includes sizes, dtypes and all other arguments
  std::uint64_t loose = 0;  // ignores sizes and numbers: equal for stages of different widths
  // A hash of the modules and parameters themselves: equal for calls of the same ones; 0 when there are
  // none.
  std::uint64_t weights = 0;
};
// Keeps apart items with the same content by a number for each, such as how it differs from another model.
using Distinction = std::function<int(const Outline::Item&)>;
// Returns the structures by item.
std::vector<Structure> find_structures(const Outline& outline, const Distinction& distinction = {});

// Moves siblings that equal the preceding one into boxes of kind kRepeats: of h.0, h.1, ..., h.11 all but
// h.0.  The repetitions in a row either all call the same modules, or each calls other modules than those
// before, never both: of a, a, a, b only the first three are a row.  When a sequence repeats with a period
// of several items (a block and an addition, the iterations of a loop), each repetition first becomes a box
// of kind kPeriod.  Single nodes need four repetitions, calls of one module three; those with the same
// weights, or none, become a single box, which equals no other item.
void fold_repeats(Outline& outline, const std::vector<Structure>& structures);

// Groups the children of a box with more than `limit` children into boxes of kind kPart: first consecutive
// operations, then any consecutive items, on several levels if necessary.
void split_large(Outline& outline, std::size_t limit);

}  // namespace fxtrace::internal
