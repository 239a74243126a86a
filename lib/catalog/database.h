// A catalog's SQLite database.
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

// A file as it was when its model was read.
struct FileState {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::string content;  // content_key()
  bool operator==(const FileState&) const = default;
};

// A catalog that rows are added to.  What is added becomes visible, all or nothing, with commit(); a process
// that is killed loses what was not committed, and no more.  All functions throw Error(kInput, at the file).
class Catalog {
 public:
  // Opens the file, or makes it.  `settings` say how models are read: when the catalog has others, as of
  // another version, no file counts as known.  Refuses a file that is no catalog or has more in it than one,
  // as a trigger, and one that another process is adding to.
  Catalog(const std::string& file, const std::string& settings);
  ~Catalog();  // without commit()
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Gives numbers to the files that have none yet: the smallest free ones, in this order.  So numbers do not
  // depend on which file is read first, and those of a run that was killed and started again are the same.
  void number(const std::vector<std::string>& paths);
  // Returns the state of a file of the catalog when it was read without an error, with the same settings.
  std::optional<FileState> find_file(const std::string& path) const;
  // Replaces the rows of the file, which must have a number, by those in `rows`, the bytes of a RowWriter.
  // Returns the error that they tell.  If they are damaged, throws, and the file has no rows.
  std::optional<std::string> add(const std::string& path, const FileState& state, std::string_view rows);
  // Notes that the file has the same content as before.
  void touch(const std::string& path, const FileState& state);
  // Removes all files for which keep() does not hold; returns their number.
  std::int64_t remove_unless(const std::function<bool(const std::string& path)>& keep);
  void commit();
  const std::string& file() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// A cell of an answer.
struct QueryValue {
  enum class Type { kNull, kInteger, kReal, kText, kBlob };
  Type type = Type::kNull;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;  // of a blob in hexadecimal digits
};

// Receives an answer as it comes: the names of its columns once, then each row.
struct QueryRows {
  std::function<void(const std::vector<std::string>& columns)> begin;
  std::function<void(const std::vector<QueryValue>& row)> row;
};

struct QueryLimits {
  std::uint64_t bytes = 0;    // of memory; 0: no limit
  std::uint64_t seconds = 0;  // of processor time; 0: no limit
};

// Keeps others from changing the database until all who have opened `file` have closed it; who would change
// it waits, as for any reader.  Throws Error(kInput) when somebody else does not stop changing it for some
// seconds, and when a change to it is not complete, so that reading this file alone would give wrong answers.
void hold_for_reading(const ModelFile& file);

// Runs one statement that only reads, and opens nothing for that but `file`.  No other file can be read or
// changed by it: other databases cannot be attached, and no extension loaded.  Throws Error(kUsage) for wrong
// SQL and for one that would write, Error(kInput, at the file), and std::bad_alloc.
void query(const ModelFile& file, const std::string& sql, const QueryLimits& limits, const QueryRows& rows);

}  // namespace fxtrace::catalog
