// The SQLite database of a catalog: adding rows, and queries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/model_file.h"
#include "catalog/row_stream.h"
#include "catalog/tables.h"

namespace fxtrace::catalog {

// The state of a file when its model was read.
struct FileState {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::string content;  // content_key()
  bool operator==(const FileState&) const = default;
};

// A catalog to which rows are added.  Additions become visible, all or nothing, with commit(); a process
// that is killed loses only those not committed.  All functions throw Error(kInput, at the file).
class Catalog {
 public:
  // Opens the file, or creates it.  `settings` describe how models are read: when those of the catalog
  // differ, as they do in another version, no file counts as known.  Refuses a file that is not a catalog or
  // has more than one has, such as a trigger, and one to which another process is adding.
  Catalog(const std::string& file, const std::string& settings);
  ~Catalog();  // without commit()
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Gives a number to a file that has none yet: the smallest free one.  When files are numbered in the order
  // of their names, numbers do not depend on which file is read first, and those of a run that was killed and
  // started again are the same.
  void number(const std::string& path);
  // Returns the state of a file when it was read without an error, with the same settings; nothing for other
  // files.
  std::optional<FileState> find_file(const std::string& path) const;
  // Numbers the file and replaces its rows by those in `rows`, the bytes of a RowWriter.
  // Returns the error in the rows, if any.  Throws if they are damaged; the file then has no rows.
  std::optional<std::string> add(const std::string& path, const FileState& state, std::string_view rows);
  // Records that the file has the same content as before.
  void touch(const std::string& path, const FileState& state);
  // Removes all files for which keep() does not hold; returns their number.
  std::int64_t remove_unless(const std::function<bool(const std::string& path)>& keep);
  void commit();
  const std::string& file() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

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

}  // namespace fxtrace::catalog
