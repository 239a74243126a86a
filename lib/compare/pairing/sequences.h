// Sequences: aligns two sequences of hashes in order, as in a text diff.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace fxtrace::internal {

using Place = std::uint32_t;
inline constexpr Place kNoPlace = UINT32_MAX;
using PlacePair = std::pair<Place, Place>;  // places in the first and in the second sequence

// Returns pairs of equal items that are in the same order in both.  For sequences with few differences this
// is a longest such list (Myers, An O(ND) Difference Algorithm, 1986).  Where that would take too long, the
// n-th item of each kind is paired with the n-th (as patience diff does for unique items).  Time grows with
// the lengths, but for a logarithm.
std::vector<PlacePair> align(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b);

// Returns which of the distinct numbers are in a longest increasing subsequence; the others have moved.
std::vector<bool> longest_increasing(const std::vector<Place>& numbers);

}  // namespace fxtrace::internal
