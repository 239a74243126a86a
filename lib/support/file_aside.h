// A file beside the one that it becomes once it is complete.
#pragma once

#include <filesystem>
#include <string>

#include "support/scope_guard.h"

namespace fxtrace::internal {

// A file in the target's folder, or one in memory.  The file has no name (O_TMPFILE) and disappears with its
// last descriptor, however the process ends.  It has a name only between linkat() and rename(), or from the
// start where the file system has no O_TMPFILE.  All functions throw std::system_error.
class FileAside {
 public:
  FileAside();  // in memory
  // `target` is no symbolic link.
  explicit FileAside(std::filesystem::path target);
  ~FileAside();
  FileAside(const FileAside&) = delete;
  FileAside& operator=(const FileAside&) = delete;

  int descriptor() const { return descriptor_.number(); }

  // Moves the file to its target: others see the old content or the new one.  A new file has the mode that
  // umask allows; a replaced one keeps its mode and, if this process may set it, its owner.  There is no
  // fsync().
  void replace_target();

 private:
  template <class Create>
  void create(Create&& create);
  void set_path(std::string path);

  std::filesystem::path target_;
  std::string path_;  // the temporary name, while there is one
  Descriptor descriptor_;
};

// Removes the files aside that have a name now.  Safe in signal handlers.
void remove_files_aside() noexcept;

}  // namespace fxtrace::internal
