// What all uses of SQLite have in common: handles, errors, protection, and the schema of a catalog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <sqlite3.h>

#include "archive/model_file.h"
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

// Opens a database of unknown origin: what is in its schema neither runs nor causes a crash.  `name` is a
// path that SQLite does not take for a URI, or ":memory:", and `file` the name in errors.  Throws
// Error(kInput, at the file) and std::bad_alloc.
Database open_database(const std::string& name, const std::string& file);

// Returns the bytes of a column's text; empty for NULL.
std::string text_of(sqlite3_stmt* statement, int column);

// Returns the statements that make the tables of a catalog.
std::string catalog_statements();

// Throws Error(kInput, at the file) unless the database is a catalog of this version whose tables and indices
// are exactly those of catalog_statements(): other parts of a schema, such as an index over an expression,
// would run when rows are added.  Views run only in queries of them.  `hints` go with other tables.
void check_is_catalog(sqlite3* database, const std::string& file, const std::vector<std::string>& hints);

// A database of unknown origin that is read as bytes in memory: SQLite opens no file.

// The bytes of a database file, mapped into memory; nobody may change the file meanwhile.
class DatabaseImage {
 public:
  // Throws Error(kInput, at the file) and std::bad_alloc.
  explicit DatabaseImage(const ModelFile& file);
  ~DatabaseImage();
  DatabaseImage(const DatabaseImage&) = delete;
  DatabaseImage& operator=(const DatabaseImage&) = delete;

  unsigned char* bytes() const { return bytes_; }
  sqlite3_int64 size() const { return static_cast<sqlite3_int64>(size_); }

 private:
  void leave_log_out();

  unsigned char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

inline constexpr int kMaxText = 64 << 20;  // bytes of a value, and of a row

// Opens the database, which the image must outlive, with limits: SQLite takes at most `memory` bytes in all;
// 0: no limit.  `file` is its name in errors.  Throws Error(kInput, at the file) and std::bad_alloc.
Database open_image(const DatabaseImage& image, const std::string& file, std::uint64_t memory);

// Refuses from now on, with SQLITE_AUTH, statements that do more than read and compute.
void allow_only_reading(sqlite3* database);

}  // namespace fxtrace::internal::catalog
