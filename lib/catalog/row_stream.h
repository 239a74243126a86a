// Rows of tables as bytes, sent from the process that reads a model to the process that has the database.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "catalog/tables.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal::catalog {

using Cell = std::variant<std::monostate, std::int64_t, std::string>;  // NULL, INTEGER, TEXT
using Cells = std::vector<Cell>;

// Converts an absent value to NULL.
template <class T>
Cell cell(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}
// Converts a size to its number; an expression, or an absent one, is NULL.
inline Cell number_cell(const std::optional<SymInt>& size) { return size ? cell(size->number()) : Cell(); }
// Converts an empty text to NULL.
inline Cell cell_unless_empty(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

class RowWriter {
 public:
  explicit RowWriter(std::ostream& out) : out_(out) {}
  // Writes a row.  Texts become UTF-8, with U+FFFD for malformed bytes.  Throws Error(kInternal) unless
  // there are cell_count() cells.
  void row(TableId table, const Cells& cells);

 private:
  std::ostream& out_;
};

// Reads rows from bytes, which must outlive this and are not trusted.
class RowReader {
 public:
  explicit RowReader(std::string_view bytes) : left_(bytes) {}
  struct Row {
    TableId table;
    Cells cells;
  };
  // Returns the next row; nothing at the end.  Throws Error(kInput) for bytes that were not written by a
  // RowWriter.
  std::optional<Row> next();

 private:
  template <class T>
  T number();

  std::string_view left_;
};

}  // namespace fxtrace::internal::catalog
