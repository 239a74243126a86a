// Tables in text.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace fxtrace::cli {

using TableRow = std::vector<std::string>;

// Makes texts that fit into a line of each cell, and returns how wide columns are that have them all.  A
// single very wide cell does not widen its column.
std::vector<std::size_t> fit_columns(std::vector<TableRow>& rows, std::size_t columns);

// Writes one row whose cells fit; columns are separated by two spaces, and those in `right` right-aligned.
void write_row(std::ostream& out, const TableRow& row, const std::vector<std::size_t>& widths,
               const std::vector<bool>& right);

// Writes columns separated by two spaces; those in `right` are right-aligned.  A single very wide cell does
// not widen its column.  Unprintable characters are escaped.
void write_table(std::ostream& out, std::vector<TableRow> rows, const std::vector<bool>& right);

}  // namespace fxtrace::cli
