// Reads the rows of a catalog of unknown origin, which another catalog takes over.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "archive/model_file.h"
#include "catalog/database.h"

namespace fxtrace::internal::catalog {

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

}  // namespace fxtrace::internal::catalog
