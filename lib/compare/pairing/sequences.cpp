#include "compare/pairing/sequences.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace fxtrace::internal {
namespace {

constexpr std::ptrdiff_t kMostEdits = 400;

// Aligns by the greedy algorithm of Myers; returns nothing if it takes more than kMostEdits edits.
std::optional<std::vector<PlacePair>> align_exactly(const std::vector<std::uint64_t>& a,
                                                    const std::vector<std::uint64_t>& b) {
  const auto n = static_cast<std::ptrdiff_t>(a.size());
  const auto m = static_cast<std::ptrdiff_t>(b.size());
  const std::ptrdiff_t most = std::min(n + m, kMostEdits);
  // The furthest x on diagonal k, by k + most + 1; before each step for -edits to edits.
  std::vector<std::ptrdiff_t> reached(static_cast<std::size_t>(2 * most + 3), 0);
  const auto at = [&](std::ptrdiff_t k) -> std::ptrdiff_t& {
    return reached[static_cast<std::size_t>(k + most + 1)];
  };
  std::vector<std::vector<std::ptrdiff_t>> trace;
  const auto comes_from_above = [](std::ptrdiff_t k, std::ptrdiff_t edits, const auto& x) {
    return k == -edits || (k != edits && x(k - 1) < x(k + 1));
  };
  for (std::ptrdiff_t edits = 0; edits <= most; ++edits) {
    trace.emplace_back();
    for (std::ptrdiff_t k = -edits - 1; k <= edits + 1; ++k) trace.back().push_back(at(k));
    for (std::ptrdiff_t k = -edits; k <= edits; k += 2) {
      std::ptrdiff_t x = comes_from_above(k, edits, at) ? at(k + 1) : at(k - 1) + 1;
      while (x < n && x - k < m && x - k >= 0 &&
             a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(x - k)])
        ++x;
      at(k) = x;
      if (x < n || x - k < m) continue;
      // Follow the path back.
      std::vector<PlacePair> pairs;
      std::ptrdiff_t y = m;
      x = n;
      for (std::ptrdiff_t step = edits; step >= 0; --step) {
        const auto& before = trace[static_cast<std::size_t>(step)];
        const auto then = [&](std::ptrdiff_t diagonal) {
          return before[static_cast<std::size_t>(diagonal + step + 1)];
        };
        const std::ptrdiff_t diagonal = x - y;
        const bool above = comes_from_above(diagonal, step, then);
        const std::ptrdiff_t from = step == 0 ? 0 : above ? diagonal + 1 : diagonal - 1;
        const std::ptrdiff_t from_x = step == 0 ? 0 : then(from);
        const std::ptrdiff_t from_y = from_x - from;
        while (x > from_x && y > from_y) pairs.emplace_back(--x, --y);
        x = from_x;
        y = from_y;
      }
      std::ranges::reverse(pairs);
      return pairs;
    }
  }
  return std::nullopt;
}

// Pairs the n-th item of each kind with the n-th, and keeps those that are in the same order.
std::vector<PlacePair> align_by_occurrence(const std::vector<std::uint64_t>& a,
                                           const std::vector<std::uint64_t>& b) {
  const auto sorted = [](const std::vector<std::uint64_t>& items) {
    std::vector<std::pair<std::uint64_t, Place>> places;
    places.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) places.emplace_back(items[i], static_cast<Place>(i));
    std::ranges::sort(places);
    return places;
  };
  const auto first = sorted(a);
  const auto second = sorted(b);
  std::vector<PlacePair> pairs;
  for (std::size_t i = 0, j = 0; i < first.size() && j < second.size();) {
    if (first[i].first < second[j].first) {
      ++i;
    } else if (second[j].first < first[i].first) {
      ++j;
    } else {
      const std::uint64_t kind = first[i].first;
      while (i < first.size() && j < second.size() && first[i].first == kind && second[j].first == kind)
        pairs.emplace_back(first[i++].second, second[j++].second);
      while (i < first.size() && first[i].first == kind) ++i;
      while (j < second.size() && second[j].first == kind) ++j;
    }
  }
  std::ranges::sort(pairs);
  std::vector<Place> numbers;
  numbers.reserve(pairs.size());
  for (const PlacePair& pair : pairs) numbers.push_back(pair.second);
  const std::vector<bool> stays = longest_increasing(numbers);
  std::vector<PlacePair> result;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (stays[i]) result.push_back(pairs[i]);
  }
  return result;
}

}  // namespace

std::vector<PlacePair> align(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  if (auto pairs = align_exactly(a, b)) return *pairs;
  return align_by_occurrence(a, b);
}

std::vector<bool> longest_increasing(const std::vector<Place>& numbers) {
  std::vector<std::size_t> ends;  // by length: the end of the sequence with the least last number
  std::vector<std::size_t> before(numbers.size(), SIZE_MAX);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto place =
        std::ranges::lower_bound(ends, numbers[i], {}, [&](std::size_t j) { return numbers[j]; });
    if (place != ends.begin()) before[i] = *std::prev(place);
    if (place == ends.end()) {
      ends.push_back(i);
    } else {
      *place = i;
    }
  }
  std::vector<bool> stays(numbers.size(), false);
  for (std::size_t i = ends.empty() ? SIZE_MAX : ends.back(); i != SIZE_MAX; i = before[i]) stays[i] = true;
  return stays;
}

}  // namespace fxtrace::internal
