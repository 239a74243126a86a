#include "writers/tree_lines.h"

#include <algorithm>

namespace fxtrace {

std::vector<bool> last_ones(const std::vector<std::size_t>& depths) {
  std::vector<bool> is_last(depths.size(), true);
  std::vector<std::size_t> open;  // the row at each depth
  for (std::size_t i = 0; i < depths.size(); ++i) {
    while (!open.empty() && depths[open.back()] > depths[i]) open.pop_back();
    if (!open.empty() && depths[open.back()] == depths[i]) {
      is_last[open.back()] = false;
      open.pop_back();
    }
    open.push_back(i);
  }
  return is_last;
}

std::vector<std::string> tree_lines(const std::vector<std::size_t>& depths) {
  constexpr std::size_t kMostLines = 20;
  const std::vector<bool> is_last = last_ones(depths);
  std::vector<std::string> lines;
  std::vector<std::string> above;  // for the children of the row at each depth
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const std::size_t depth = std::min(depths[i], above.size());
    above.resize(depth);
    if (depth == 0) {
      lines.emplace_back();
      above.emplace_back();
    } else if (depth > kMostLines) {
      lines.push_back(above.back());
      above.push_back(above.back());
    } else {
      lines.push_back(above.back() + (is_last[i] ? "└ " : "├ "));
      above.push_back(above.back() + (is_last[i] ? "  " : "│ "));
    }
  }
  return lines;
}

}  // namespace fxtrace
