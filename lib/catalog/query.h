// Queries of SQLite databases of unknown origin.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "archive/model_file.h"

namespace fxtrace::internal::catalog {

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
