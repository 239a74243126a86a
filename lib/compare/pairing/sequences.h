// Two sequences of hashes, and what of them belongs together in order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace fxtrace {

using Place = std::uint32_t;
inline constexpr Place kNoPlace = UINT32_MAX;
using PlacePair = std::pair<Place, Place>;  // in the first and in the second sequence

// Equal items in an order that both have.  Of sequences that differ in little, a longest such list (Myers, An
// O(ND) Difference Algorithm, 1986); where that would take too long, one that is found by pairing the n-th of
// each kind (as patience diff does with what stands there once).  Time grows with the lengths, but for a
// logarithm.
std::vector<PlacePair> align(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b);

// Which of different numbers stand in a longest increasing subsequence, the others having moved.
std::vector<bool> longest_increasing(const std::vector<Place>& numbers);

}  // namespace fxtrace
