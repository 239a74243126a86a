// What all uses of SQLite have in common: handles, errors, protection, and the schema of a catalog.
#pragma once

#include <memory>
#include <string>

#include <sqlite3.h>

#include "support/error.h"

namespace fxtrace::internal::catalog {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

inline constexpr int kWait = 10'000;  // milliseconds to wait for other readers or writers

// Returns the error for a result code; `database` may be null.  Throws std::bad_alloc where that is the
// reason.
Error failed(const std::string& file, sqlite3* database, int code);

// Protects against databases of unknown origin: what is in the schema must neither run nor cause a crash.
void distrust(sqlite3* database);

// Returns the bytes of a column's text; empty for NULL.
std::string text_of(sqlite3_stmt* statement, int column);

// Returns the statements that make the tables of a catalog.
std::string catalog_statements();

// Throws Error(kInput, at the file) unless the database is a catalog of this version whose tables and indices
// are exactly those of catalog_statements(): other parts of a schema, such as an index over an expression,
// would run when rows are added.  Views run only in queries of them.  `hints` go with other tables.
void check_is_catalog(sqlite3* database, const std::string& file, const std::vector<std::string>& hints);

}  // namespace fxtrace::internal::catalog
