#include "support/text/did_you_mean.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

namespace fxtrace::internal {
namespace {

// Returns the Levenshtein distance, ignoring case and the difference between '-' and '_'.
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

std::vector<std::string> find_nearest(std::string_view text, const std::vector<std::string>& candidates,
                                      std::size_t most) {
  if (text.empty() || text.size() > 100) return {};
  const std::string end = "." + std::string(text);
  const std::size_t largest = std::max<std::size_t>(text.size() / 3, 1);
  std::vector<std::pair<std::size_t, const std::string*>> found;
  for (const std::string& candidate : candidates) {
    const bool is_too_long = candidate.size() > text.size() + largest;
    const std::size_t d = candidate.ends_with(end) ? 0
                          : is_too_long            ? largest + 1
                                                   : distance(text, candidate);
    if (d <= largest) found.emplace_back(d, &candidate);
  }
  std::ranges::stable_sort(found, {}, [](const auto& item) { return item.first; });
  std::vector<std::string> names;
  for (const auto& [d, name] : found) {
    if (names.size() == most) break;
    if (std::ranges::find(names, *name) == names.end()) names.push_back(*name);
  }
  return names;
}

std::string find_nearest(std::string_view text, const std::vector<std::string>& candidates) {
  const std::vector<std::string> names = find_nearest(text, candidates, 1);
  return names.empty() ? "" : names.front();
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates) {
  const std::string nearest = find_nearest(text, candidates);
  return nearest.empty() ? "" : ", did you mean " + shell_quoted(nearest) + "?";
}

}  // namespace fxtrace::internal
