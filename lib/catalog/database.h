// A catalog's SQLite database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  // another version, no file counts as known.  Refuses a file that is no catalog, and one that another
  // process is adding to.
  Catalog(const std::string& file, const std::string& settings);
  ~Catalog();  // without commit()
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Gives numbers to the files that have none yet: the smallest free ones, in this order.  So numbers do not
  // depend on which file is read first, and those of a run that was killed and started again are the same.
  void number(const std::vector<std::string>& paths);
  // Returns the state of a file of the catalog when it was read without an error, with the same settings.
  std::optional<FileState> find(const std::string& path) const;
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

// The answer to a query: column names, and rows of NULLs, numbers and texts.
struct QueryResult {
  struct Value {
    enum class Type { kNull, kInteger, kReal, kText, kBlob };
    Type type = Type::kNull;
    std::int64_t integer = 0;
    double real = 0;
    std::string text;  // of a blob in hexadecimal digits
  };
  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;
};

// Runs one statement that only reads.  Nothing else of this machine can be read or changed by it: other
// databases cannot be attached, and no extension loaded.  Throws Error(kUsage) for wrong SQL and for one that
// would write, and Error(kInput, at the file).
QueryResult query(const std::string& file, const std::string& sql);

}  // namespace fxtrace::catalog
