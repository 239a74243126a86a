// Equal blocks of rows whose names differ in a number only.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

// A row that is shown, for `repeats` rows: itself, and those at the same place of the blocks that follow.
struct NumberedRow {
  std::size_t row = 0;
  std::size_t repeats = 1;
  std::size_t length = 0;  // of a block, in rows
  // The name with both numbers: "h.0 - 11.fc".  Of a row by itself its name.
  std::string name;
  std::size_t part = 0;  // which part of the name has the numbers
};

// Folds rows with these qualified names: blocks of rows whose names are in one module of a number, or have
// that number themselves, and then the same rows with the next number.  `is_equal` says whether two rows are
// equal but for their names.
std::vector<NumberedRow> fold_numbered(const std::vector<std::string_view>& names,
                                       const std::function<bool(std::size_t, std::size_t)>& is_equal);

}  // namespace fxtrace
