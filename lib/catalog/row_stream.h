// Rows of tables as bytes, on their way from the process that reads a model to the one that has the database.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "catalog/tables.h"

namespace fxtrace::catalog {

using Cell = std::variant<std::monostate, std::int64_t, std::string>;  // NULL, INTEGER, TEXT
using Cells = std::vector<Cell>;

// Converts what is absent to NULL.
template <class T>
Cell cell(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}
// Converts an empty text to NULL.
inline Cell cell_unless_empty(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

class RowWriter {
 public:
  explicit RowWriter(std::ostream& out) : out_(out) {}
  // Texts become UTF-8: U+FFFD stands for bytes that are not.  Throws Error(kInternal) unless there are
  // cell_count() cells.
  void row(TableId table, const Cells& cells);

 private:
  std::ostream& out_;
};

// Trusts nothing in the bytes, which must outlive this.
class RowReader {
 public:
  explicit RowReader(std::string_view bytes) : left_(bytes) {}
  struct Row {
    TableId table;
    Cells cells;
  };
  // Returns nothing at the end.  Throws Error(kInput) for bytes that no RowWriter wrote.
  std::optional<Row> next();

 private:
  template <class T>
  T number();

  std::string_view left_;
};

}  // namespace fxtrace::catalog
