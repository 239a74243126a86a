// The SQLite database of a catalog, to which rows are added.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/tables.h"

namespace fxtrace::internal::catalog {

// The state of a file when its model was read.
struct FileState {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::string content;  // content_key()
  bool operator==(const FileState&) const = default;
};

// What happens to a catalog whose settings are others.
enum class OtherSettings {
  kReadAgain,  // no file counts as known
  kRefuse,
};

// Throws Error(kInput, at the file) unless the settings of a catalog are those of the others.
void check_settings(const std::string& settings, const std::string& others, const std::string& file);

// A catalog to which rows are added.  Additions become visible, all or nothing, with commit(); a process
// that is killed loses only those not committed.  All functions throw Error(kInput, at the file).
class Catalog {
 public:
  // Opens the file, or creates it.  `settings` describe how models are read; those of another version differ.
  // Refuses a file that is not a catalog or has more than one has, such as a trigger, and one to which
  // another process is adding.
  Catalog(const std::string& file, const std::string& settings,
          OtherSettings others = OtherSettings::kReadAgain);
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
  // Returns the time of the file's last change when it was read, if it was, in nanoseconds.
  std::optional<std::int64_t> find_time(const std::string& path) const;
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

}  // namespace fxtrace::internal::catalog
