#include "app/table.h"

#include <algorithm>

#include "support/columns.h"
#include "support/printable.h"

namespace fxtrace::cli {
namespace {

constexpr std::size_t kMaxColumn = 60;

}  // namespace

std::vector<std::size_t> fit_columns(std::vector<TableRow>& rows, std::size_t columns) {
  std::vector<std::size_t> widths(columns, 0);
  for (TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = one_line(row[i]);
      widths[i] = std::max(widths[i], std::min(width(row[i]), kMaxColumn));
    }
  }
  return widths;
}

void write_row(std::ostream& out, const TableRow& row, const std::vector<std::size_t>& widths,
               const std::vector<bool>& right) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::size_t used = width(row[i]);
    const std::string padding(used < widths[i] ? widths[i] - used : 0, ' ');
    const bool last = i + 1 == row.size();
    out << (right[i] ? padding : "") << row[i] << (right[i] || last ? "" : padding) << (last ? "\n" : "  ");
  }
}

void write_table(std::ostream& out, std::vector<TableRow> rows, const std::vector<bool>& right) {
  const std::vector<std::size_t> widths = fit_columns(rows, right.size());
  for (const TableRow& row : rows) write_row(out, row, widths, right);
}

}  // namespace fxtrace::cli
