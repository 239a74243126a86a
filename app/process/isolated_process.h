// One sandboxed child process, for which its owner waits.  isolation.h has the design.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "app/console.h"
#include "app/process/isolation.h"
#include "support/error.h"

namespace fxtrace::internal::cli {

class IsolatedProcess {
 public:
  // Both must outlive this.
  IsolatedProcess(const IsolationArguments& arguments, Console& console);
  ~IsolatedProcess();
  IsolatedProcess(const IsolatedProcess&) = delete;
  IsolatedProcess& operator=(const IsolatedProcess&) = delete;

  // Lets the output exceed --max-memory by this many bytes, the size of the inputs, as weights may be copied.
  void allow_copies_of(std::uint64_t bytes) { copied_ = bytes; }
  // Forks.  The child writes its messages to the descriptor `messages`, loses its rights, except to `open`
  // descriptors and stderr, calls work(), and ends with its exit code: only the parent returns.  Throws
  // Error(kInput).
  void start(int messages, std::vector<int> open, const Work& work, const std::function<bool()>& has_product);

  pid_t id() const { return id_; }
  // Returns whether the child, which has ended, has written its product completely.
  bool has_product() const;
  // Returns the index of the file that was read last, as told to Isolated::reads().  May be any number, as
  // the child may have been taken over.
  std::size_t file() const;
  // Returns the error that work() threw; nothing if it returned.
  std::optional<Error> error() const;
  // Returns why the child did not end by itself, as an error about the model; nothing if it did.  `status` is
  // that of waitpid().
  std::optional<Error> failure(int status) const;
  // Returns the error for a child that was stopped because of its time limit.
  Error took_too_long() const;

 private:
  struct Report;

  [[noreturn]] void run(int messages, std::vector<int> open, const Work& work,
                        const std::function<bool()>& has_product);

  const IsolationArguments& arguments_;
  Console& console_;
  Report* report_;            // in memory that both processes share
  std::uint64_t copied_ = 0;  // bytes
  pid_t parent_ = -1, id_ = -1;
};

}  // namespace fxtrace::internal::cli
