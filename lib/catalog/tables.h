// The tables of a catalog: the definition with which the database, the rows and docs/how-to/catalog.md agree.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fxtrace::internal::catalog {

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
inline constexpr int kFormatVersion = 3;

}  // namespace fxtrace::internal::catalog
