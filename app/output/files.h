// Files and pipes that a command reads, and how long it waits for the programs at their other ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/console.h"
#include "archive/model_file.h"
#include "pipelines/read_model.h"
#include "support/error.h"

namespace fxtrace::internal::cli {

// Waiting for the program at the other end of a pipe: told after two seconds, and never for ever.

// The time to wait, in seconds, where no option says another: the default of --max-time.
inline constexpr std::uint64_t kUsualWait = 300;

struct Patience {
  std::string what;                    // what is waited for: "p to be written"
  std::uint64_t seconds = kUsualWait;  // 0: no limit
  Console* console = nullptr;          // null: nothing is told
};

// Calls is_ready() until it returns true; it should take some milliseconds to return false.  Throws
// Error(kInput) when the time is over.
void wait_until(const std::function<bool()>& is_ready, const Patience& patience);

// Waits until a read of the descriptor would not block.
void wait_for_input(int descriptor, const Patience& patience);

// Opens input: a model from a file or a pipe, and small files such as configurations.

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
