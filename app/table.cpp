#include "app/table.h"

#include <algorithm>

#include "support/columns.h"
#include "support/printable.h"

namespace fxtrace::cli {
namespace {

constexpr std::size_t kMaxColumn = 60;

}  // namespace

void write_table(std::ostream& out, std::vector<TableRow> rows, const std::vector<bool>& right) {
  for (TableRow& row : rows) {
    for (std::string& cell : row) cell = one_line(cell);
  }
  std::vector<std::size_t> widths(right.size(), 0);
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], std::min(width(row[i]), kMaxColumn));
  }
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t used = width(row[i]);
      const std::string padding(used < widths[i] ? widths[i] - used : 0, ' ');
      const bool last = i + 1 == row.size();
      out << (right[i] ? padding : "") << row[i] << (right[i] || last ? "" : padding) << (last ? "\n" : "  ");
    }
  }
}

}  // namespace fxtrace::cli
