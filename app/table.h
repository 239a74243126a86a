// Tables in text.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace fxtrace::cli {

using TableRow = std::vector<std::string>;

// Writes columns separated by two spaces; those in `right` are right-aligned.  A single very wide cell does
// not widen its column.  Unprintable characters are escaped.
void write_table(std::ostream& out, std::vector<TableRow> rows, const std::vector<bool>& right);

}  // namespace fxtrace::cli
