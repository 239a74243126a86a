// Rows for people to read, in columns.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace fxtrace::cli {

using TableRow = std::vector<std::string>;

// Columns with two spaces between; those in `right` are aligned to the right; one that is very wide does not
// push the others away.  Text of files is made safe to print.
void write_table(std::ostream& out, std::vector<TableRow> rows, const std::vector<bool>& right);

}  // namespace fxtrace::cli
