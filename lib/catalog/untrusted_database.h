// SQLite databases of unknown origin: catalogs that are taken over, and queries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/model_file.h"
#include "catalog/database.h"

namespace fxtrace::internal::catalog {

// Reads the rows of a catalog of unknown origin, which another catalog takes over.

// The rows of one file.
struct FileRows {
  std::string path;
  FileState state;
  std::string rows;  // the bytes of a RowWriter
};

class CatalogReader {
 public:
  // Nobody may change the file meanwhile: see hold_for_reading().  All functions throw Error(kInput, at the
  // file) for one that is not a catalog of this version, has more than one has, or is damaged, and
  // std::bad_alloc.
  explicit CatalogReader(const ModelFile& file);
  ~CatalogReader();
  CatalogReader(const CatalogReader&) = delete;
  CatalogReader& operator=(const CatalogReader&) = delete;

  // Returns how the models were read.
  std::string settings();
  // Returns the next file, in the order of paths; nothing at the end.
  std::optional<FileRows> next();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Queries of SQLite databases of unknown origin.

// A cell of a query's result.
struct QueryValue {
  enum class Type { kNull, kInteger, kReal, kText, kBlob };
  Type type = Type::kNull;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;  // for a blob, hexadecimal digits
};

// Receives a query's result as it is produced: the names of its columns once, then each row.
struct QueryRows {
  std::function<void(const std::vector<std::string>& columns)> begin;
  std::function<void(const std::vector<QueryValue>& row)> row;
};

struct QueryLimits {
  std::uint64_t bytes = 0;    // memory in bytes; 0: no limit
  std::uint64_t seconds = 0;  // processor time in seconds; 0: no limit
};

// Keeps other processes from changing the database until all descriptors of `file` are closed; a writer
// waits, as for any reader.  Throws Error(kInput) when another process keeps changing it for some seconds,
// and when a change is not complete, so that reading this file alone would give wrong results.
void hold_for_reading(const ModelFile& file);

// Runs one statement that only reads, and for which only `file` is opened.  It cannot read or change any
// other file: other databases cannot be attached, and no extension loaded.  Throws Error(kUsage) for wrong
// SQL and for a statement that would write, Error(kInput, at the file), and std::bad_alloc.
void query(const ModelFile& file, const std::string& sql, const QueryLimits& limits, const QueryRows& rows);

}  // namespace fxtrace::internal::catalog
