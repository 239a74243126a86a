// Folds equal blocks of rows whose names differ only in a number: h.0.fc, h.1.fc, ...
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::internal {

// A row that stands for `repeats` rows: itself, and those at the same place in the following blocks.
struct NumberedRow {
  std::size_t row = 0;
  std::size_t repeats = 1;
  std::size_t length = 0;  // the number of rows of a block
  // The name with both numbers, "h.0 - 11.fc"; for a single row its name.
  std::string name;
  std::size_t part = 0;  // the index of the part of the name that has the numbers
};

// Folds rows with these qualified names.  A block is the consecutive rows below one numbered module, or with
// that name; it is folded with following blocks of the same rows and the next numbers.  `is_equal` says
// whether two rows are equal except for their names.
std::vector<NumberedRow> fold_numbered(const std::vector<std::string_view>& names,
                                       const std::function<bool(std::size_t, std::size_t)>& is_equal);

}  // namespace fxtrace::internal
