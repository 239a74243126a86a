// Where the product of a run goes: stdout, or a file that is complete or as it was.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include <sys/types.h>

#include "app/console.h"
#include "app/files.h"

namespace fxtrace::cli {

using WriteFunction = std::function<void(std::ostream&)>;

// Calls write(stdout).  That a reader has closed its end is no error: the rest is not wanted.  Throws
// Error(kInput) when stdout cannot be written.
void write_stdout(Console& console, const WriteFunction& write);

// The FILE of -o, or stdout for "-".
class Output {
 public:
  // Looks at everything that can be told before the work begins.  Throws Error(kUsage) when FILE is `model`
  // under any name, and Error(kInput) when FILE cannot be written.  `console` must live as long.
  Output(std::string name, const InputFile& model, Console& console);

  // Calls write(stream), once.  A file is written beside FILE under another name and takes its place when all
  // went well; whatever is thrown, FILE is as it was.  A file behind a symbolic link is replaced, not the
  // link, and keeps its mode and owner.  Pipes, devices and descriptors (/dev/stdout, /dev/fd/3) are written
  // as they are; a closed pipe is as in write_stdout().  Throws Error(kInput) when FILE cannot be written.
  void write(const WriteFunction& write) const;

 private:
  enum class Kind { kStdout, kDescriptor, kStream, kFile };

  void resolve();
  void check_not(const InputFile& model) const;
  void write_descriptor(int descriptor, const WriteFunction& write) const;
  void replace_file(const WriteFunction& write) const;
  Error cannot_write(int code) const;

  std::string name_;
  Console& console_;
  Kind kind_ = Kind::kStdout;
  std::string target_;   // of a file: `name_` with symbolic links followed
  int descriptor_ = -1;  // of stdout and descriptors
};

// Removes what an interrupted run would leave behind.  For signal handlers.
void remove_unfinished_output() noexcept;

}  // namespace fxtrace::cli
