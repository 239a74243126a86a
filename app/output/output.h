// The destination of a run's product: stdout, or a file that is replaced atomically.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "app/console.h"
#include "app/output/files.h"

namespace fxtrace::cli {

using WriteFunction = std::function<void(std::ostream&)>;
// Reads one descriptor and writes to the other.
using Filter = std::function<void(int in, int out)>;

// Calls write(stdout).  A closed pipe is not an error, as the reader does not want the rest.  Throws
// Error(kInput) when writing fails.
void write_stdout(Console& console, const WriteFunction& write);

// The FILE of -o, or stdout for "-".  A product is first written to a temporary place and then moved as a
// whole: a file replaces FILE, anything else is copied.
class Output {
 public:
  // Checks everything that can be checked before the work begins.  Throws Error(kUsage) when FILE is `model`,
  // or one of console.files_read(), under any name, and Error(kInput) when FILE cannot be written.  `console`
  // must outlive this.
  Output(std::string name, const InputFile& model, Console& console);
  ~Output();

  std::string display() const { return name_ == "-" ? "stdout" : name_; }  // for messages

  // Throws Error(kUsage) when FILE is this model as well, for commands that read several.
  void check_not(const InputFile& model) const;

  // Lets the product be of any size, as an answer of a database may.
  void allow_any_size() { most_ = UINT64_MAX; }
  // Sets a filter between the product and FILE; commit() runs it, in this process.
  void set_filter(Filter filter) { filter_ = std::move(filter); }

  // A second product, which commit() moves to its FILE right before this one.  The same holds for it.
  void add_beside(std::unique_ptr<Output> other) { beside_ = std::move(other); }
  Output* beside() const { return beside_.get(); }

  // Creates the temporary places and returns their descriptors.  Throws Error(kInput).
  std::vector<int> prepare();
  // Calls write(stream), once, to write to the temporary place.  Throws Error(kInput) when that fails, and
  // for more than 64 MB for each 10 KB of the model, of which a smaller one counts as one.
  void write(const WriteFunction& write);
  bool is_written() const { return is_written_; }
  // Calls look(what write() has written).  Where that throws, nothing has been written.
  void examine(const std::function<void(const ModelFile&)>& look);
  // Moves the product to FILE, which is unchanged if anything is thrown.  A symbolic link is followed: its
  // target is replaced, and keeps its mode and owner.  Pipes, devices and descriptors (/dev/stdout,
  // /dev/fd/3) are written to directly; a closed pipe is as in write_stdout().  Throws Error(kInput) when
  // FILE cannot be written.
  void commit();

 private:
  enum class Kind { kStdout, kDescriptor, kStream, kFile };
  class Aside;

  void resolve();
  void check_not(const FileIdentity& identity, const std::string& display) const;
  std::unique_ptr<Aside> make_aside() const;
  void copy_to(std::ostream& out) const;
  void replace_file();
  Error cannot_write(int code) const;

  std::string name_;
  std::uint64_t most_;  // bytes of a product
  Console& console_;
  Kind kind_ = Kind::kStdout;
  std::string target_;   // for a file: `name_` with symbolic links resolved
  int descriptor_ = -1;  // for stdout and descriptors
  Filter filter_;
  std::unique_ptr<Aside> aside_;
  std::unique_ptr<Output> beside_;
  bool is_written_ = false;
};

// Removes temporary files of an interrupted run.  Safe in signal handlers.
void remove_unfinished_output() noexcept;

}  // namespace fxtrace::cli
