// Where the product of a run goes: stdout, or a file that is complete or as it was.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <sys/types.h>

#include "app/console.h"
#include "app/files.h"

namespace fxtrace::cli {

using WriteFunction = std::function<void(std::ostream&)>;
// Reads one descriptor and writes the other.
using Filter = std::function<void(int in, int out)>;

// Calls write(stdout).  That a reader has closed its end is no error: the rest is not wanted.  Throws
// Error(kInput) when stdout cannot be written.
void write_stdout(Console& console, const WriteFunction& write);

// The FILE of -o, or stdout for "-".  A product is first written aside, and then put where it belongs as a
// whole: a file takes FILE's place, everything else is copied.
class Output {
 public:
  // Looks at everything that can be told before the work begins.  Throws Error(kUsage) when FILE is `model`
  // under any name, and Error(kInput) when FILE cannot be written.  `console` must live as long.
  Output(std::string name, const InputFile& model, Console& console);
  ~Output();

  // Throws Error(kUsage) when FILE is this one too, for who reads several.
  void check_not(const InputFile& model) const;

  // What goes to FILE is what `filter` makes of what is written; commit() runs it, in this process.
  void set_filter(Filter filter) { filter_ = std::move(filter); }

  // Makes the place aside; its descriptor.  Throws Error(kInput).
  int prepare();
  // Calls write(stream), once; what it writes goes aside.  Throws Error(kInput) when that fails.
  void write(const WriteFunction& write);
  bool is_written() const { return is_written_; }
  // Whatever is thrown, FILE is as it was.  A file behind a symbolic link is replaced, not the link, and
  // keeps its mode and owner.  Pipes, devices and descriptors (/dev/stdout, /dev/fd/3) are written as they
  // are; a closed pipe is as in write_stdout().  Throws Error(kInput) when FILE cannot be written.
  void commit();

 private:
  enum class Kind { kStdout, kDescriptor, kStream, kFile };
  class Aside;

  void resolve();
  std::unique_ptr<Aside> make_aside() const;
  void copy_to(std::ostream& out) const;
  void replace_file();
  Error cannot_write(int code) const;

  std::string name_;
  Console& console_;
  Kind kind_ = Kind::kStdout;
  std::string target_;   // of a file: `name_` with symbolic links followed
  int descriptor_ = -1;  // of stdout and descriptors
  Filter filter_;
  std::unique_ptr<Aside> aside_;
  bool is_written_ = false;
};

// Removes what an interrupted run would leave behind.  For signal handlers.
void remove_unfinished_output() noexcept;

}  // namespace fxtrace::cli
