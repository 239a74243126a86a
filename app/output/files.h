// Opens input: a model from a file or a pipe, and small files such as configurations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/console.h"
#include "app/process/patience.h"
#include "archive/model_file.h"
#include "pipelines/read_model.h"
#include "support/error.h"

namespace fxtrace::internal::cli {

// A model opened for reading.  Input from a pipe ("-", a named pipe) is stored in a temporary file that
// disappears with this object, or when the process ends in any way.
class InputFile {
 public:
  // Throws Error(kInput, at the name).  Waits `seconds` for each part of a named pipe, which the console
  // tells after two; 0: no limit.
  InputFile(const std::string& name, Console& console, std::uint64_t seconds = kUsualWait);

  const ModelFile& file() const { return *file_; }
  void verify_content() { file_->verify_content(); }            // see ModelFile
  const std::string& display() const { return file_->path(); }  // for messages; "stdin"
  std::string base_name() const;                                // "model.pt"; "-" for stdin
  operator NamedFile() const { return {file(), base_name()}; }  // NOLINT: stands for it
  // The identity of the named file; absent for a pipe.
  const std::optional<FileIdentity>& identity() const { return identity_; }

 private:
  void open(const std::string& name, Console& console, std::uint64_t seconds);

  std::optional<ModelFile> file_;
  bool is_stdin_ = false;
  std::optional<FileIdentity> identity_;
};

// Reads a small file, or a pipe that this process was started with (/dev/stdin, or <(...) of a shell); the
// console records it.  Refuses everything else, as it could be without end.  Throws Error(kUsage, at the
// file).
std::string read_small_file(const std::string& path, Console& console);
// Reads a small file that this run may replace: the console does not record it.
std::string read_small_file(const std::string& path);

}  // namespace fxtrace::internal::cli
