// The lines of a tree in text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fxtrace {

// Returns which rows of a tree have none behind them in the row around, from the rows' depths in pre-order.
std::vector<bool> last_ones(const std::vector<std::size_t>& depths);

// Returns what stands before the name of each row of a tree, such as "│ ├ ", from the rows' depths in
// pre-order.  The tree stops to grow to the right at some depth.
std::vector<std::string> tree_lines(const std::vector<std::size_t>& depths);

}  // namespace fxtrace
