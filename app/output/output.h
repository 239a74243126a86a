// Output: the destination of a run's product, which is stdout, or a file that is replaced atomically.
//
// A command may fail late: the model crashes its process, the disk is full, the user presses Ctrl-C.  The
// FILE of -o must then be what it was before, and never a part of a product.  So the product is first written
// to a place aside, and moved as a whole once it is complete.
//
// Invariants:
//
// 1. The constructor finds out what FILE is and whether it can be written, before the work begins.  It
//    refuses a FILE that is an input, whatever its name: files are compared by device and inode.
// 2. Between prepare() and commit(), FILE is not touched.  The place aside is in the folder of FILE, so that
//    a rename stays within one file system; for everything that is not a regular file, and before a filter,
//    it is in memory.
// 3. commit() replaces a regular file by rename(): others see the old content or the new one.  If commit()
//    throws, a regular FILE is unchanged.  There is no fsync(), so this does not hold across a power failure.
// 4. A new file has the mode that umask allows; a replaced one keeps its mode and, if this process may set
//    it, its owner.  A symbolic link stays; its target is replaced.
// 5. The file aside disappears however the process ends (support/file_aside.h).
// 6. Pipes, devices, stdout and descriptors cannot be replaced: they get a copy of the complete product, and
//    a failed copy may leave a part of it there.
// 7. A second product (add_beside()) is moved right before this one.  The two moves are not one step.
//
// Example: `fxtrace trace model.pt -o out.json`, where out.json is a link to /data/real.json of mode 0640.
//   Output(...) follows the link: the target is /data/real.json, a regular file that can be written.
//   prepare() opens a file without a name in /data, and returns its descriptor; the child
//             (process/isolation.h) inherits it.
//   write()   runs in the child and fills the file.  If the child crashes here, commit() is never called, and
//             the kernel frees the file without a name.
//   commit()  runs in the parent: it sets mode 0640, links the file as /data/.fxtrace-PID-0 and renames that
//             to /data/real.json.
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
#include "support/file_aside.h"
#include "support/scope_guard.h"

namespace fxtrace::internal::cli {

using WriteFunction = std::function<void(std::ostream&)>;
// Reads one descriptor and writes to the other.
using Filter = std::function<void(int in, int out)>;

// Calls write(stdout).  A closed pipe is not an error, as the reader does not want the rest.  Throws
// Error(kInput) when writing fails.
void write_stdout(Console& console, const WriteFunction& write);

// The FILE of -o, or stdout for "-".
class Output {
 public:
  // Checks everything that can be checked before the work begins.  Throws Error(kUsage) when FILE is `model`,
  // or one of console.files_read(), under any name, and Error(kInput) when FILE cannot be written.  `console`
  // must outlive this.
  Output(std::string name, const InputFile& model, Console& console);

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

  // Sets how long commit() waits for the reader of a named pipe, in seconds; 0: no limit.
  void wait_at_most(std::uint64_t seconds) { wait_ = seconds; }

  // Creates the temporary places and returns their descriptors.  Throws Error(kInput).
  std::vector<int> prepare();
  // Calls write(stream), once, to write to the temporary place.  Throws Error(kInput) when that fails, and
  // for more than 64 MB for each 10 KB of the model, of which a smaller one counts as one.
  void write(const WriteFunction& write);
  bool is_written() const { return is_written_; }
  // Calls look() with what write() has written.  If look() returns false or throws, the product does not
  // count as written.  Returns the result of look().
  bool examine(const std::function<bool(const ModelFile&)>& look);
  // Moves the product to FILE.  Pipes, devices and descriptors (/dev/stdout, /dev/fd/3) are written to
  // directly; a closed pipe is as in write_stdout().  Throws Error(kInput) when FILE cannot be written.
  void commit();

 private:
  enum class Kind { kStdout, kDescriptor, kStream, kFile };

  void resolve();
  void check_not(const FileIdentity& identity, const std::string& display) const;
  std::unique_ptr<FileAside> make_aside() const;
  void copy_to(std::ostream& out) const;
  Descriptor open_stream() const;
  Error cannot_write(int code) const;

  std::string name_;
  std::uint64_t most_;  // bytes of a product
  std::uint64_t wait_ = kUsualWait;
  Console& console_;
  Kind kind_ = Kind::kStdout;
  std::string target_;   // for a file: `name_` with symbolic links resolved
  int descriptor_ = -1;  // for stdout and descriptors
  Filter filter_;
  std::unique_ptr<FileAside> aside_;
  std::unique_ptr<Output> beside_;
  bool is_written_ = false;
};

}  // namespace fxtrace::internal::cli
