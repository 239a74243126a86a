#include "support/nearest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "support/shell_word.h"

namespace fxtrace {
namespace {

// Levenshtein distance, with case and the difference between '-' and '_' left out.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto plain = [](char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (plain(a[i - 1]) == plain(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string find_nearest(std::string_view text, const std::vector<std::string>& candidates) {
  if (text.size() > 100) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(text.size() / 3, 1) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t d = distance(text, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates) {
  const std::string nearest = find_nearest(text, candidates);
  return nearest.empty() ? "" : ", did you mean " + shell_quoted(nearest) + "?";
}

}  // namespace fxtrace
