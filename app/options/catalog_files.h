// The files that `fxtrace catalog` reads: those that are named, those in folders, and those of lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "app/console.h"

namespace CLI {
class App;
}  // namespace CLI

namespace fxtrace::internal::cli {

// CLI11 writes into this object after add_to(), so it must not be moved before parsing ends.
struct CatalogFileArguments {
  std::vector<std::string> paths, lists, include;
  std::string shard;
  bool recursive = true;

  void add_to(CLI::App& app, const char* group);
};

// The files, sorted by name, each name once.  Holds a list as it was read, for it may have millions of lines.
class CatalogFiles {
 public:
  struct File {
    std::string_view name;  // in the catalog
    std::string_view path;  // where the file is
  };

  // Throws Error(kInput) for a PATH or a list that cannot be read, and Error(kUsage).  A file of a list need
  // not exist.
  CatalogFiles(const CatalogFileArguments& arguments, Console& console);

  std::size_t size() const { return files_.size(); }
  const File& operator[](std::size_t i) const { return files_[i]; }
  bool contains(std::string_view name) const;

 private:
  void add_path(const CatalogFileArguments& arguments, const std::string& path, Console& console);
  void add_list(const std::string& list, Console& console);

  std::deque<std::string> texts_;  // what the files are parts of
  std::vector<File> files_;
};

}  // namespace fxtrace::internal::cli
