// A database of unknown origin that is read as bytes in memory: SQLite opens no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "archive/model_file.h"
#include "catalog/sqlite_handles.h"

namespace fxtrace::internal::catalog {

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
