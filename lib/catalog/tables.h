// The tables of a catalog, and a stream of their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "symbolic/sym_int.h"

namespace fxtrace::internal::catalog {

// The tables of a catalog: the definition with which the database, the rows and docs/how-to/catalog.md agree.

enum class TableId {
  kModels,
  kModules,
  kParameters,
  kGraphs,
  kNodes,
  kEdges,
  kOperators,
  kFailures,
  kBackends
};
inline constexpr std::size_t kTables = 9;

struct Column {
  const char* name;
  const char* type;  // "INTEGER", "TEXT", with SQLite's constraints
  const char* what;
};

struct Table {
  const char* name;
  const char* what;
  // In all tables but models, the first column is `model`, which the database fills in.
  std::vector<Column> columns;
  const char* key;                   // the columns of the primary key; empty when there is none
  std::vector<const char*> indices;  // the columns of each index
};

// Returns the tables by TableId.
const std::vector<Table>& tables();

// The number of columns of models that the database fills in: number, path and state of the file.
inline constexpr std::size_t kFileColumns = 5;
// The index of the error among the cells after those columns.
inline constexpr std::size_t kErrorCell = 1;
// Returns the number of cells in a row that is made from a model.
std::size_t cell_count(TableId table);

// Returns the statements that make the tables and indices, with comments.
std::string create_statements();

// Values in the database's header, by which it is recognized as a catalog of this form.
inline constexpr int kApplicationId = 0x66787472;  // "fxtr"
inline constexpr int kFormatVersion = 4;

// Rows of tables as bytes, sent from the process that reads a model to the process that has the database.

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
