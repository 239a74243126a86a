// One locked process; who starts it waits for it.  See run_isolated() in isolation.h.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "app/console.h"
#include "app/process/isolation.h"
#include "support/error.h"

namespace fxtrace::cli {

class IsolatedProcess {
 public:
  // Both must outlive this.
  IsolatedProcess(const IsolationArguments& arguments, Console& console);
  ~IsolatedProcess();
  IsolatedProcess(const IsolatedProcess&) = delete;
  IsolatedProcess& operator=(const IsolatedProcess&) = delete;

  // Lets what is written be larger than memory by the size of what is read, as copied weights are.
  void allow_copies_of(std::uint64_t bytes) { copied_ = bytes; }
  // Forks.  The child writes its messages to the descriptor `messages`, loses its rights, except to `open`
  // descriptors and stderr, calls work(), and ends with its exit code: only the parent returns.  Throws
  // Error(kInput).
  void start(int messages, std::vector<int> open, const Work& work, const std::function<bool()>& has_product);

  pid_t id() const { return id_; }
  // Once the child has ended: whether it has written its product.
  bool has_product() const;
  // Which file it read last, as Isolated::reads() was told; whatever number, as the child may be anyone's.
  std::size_t file() const;
  // What work() threw; nothing if it returned.
  std::optional<Error> error() const;
  // Why the child did not end by itself, as the model's problem; nothing if it did.  `status` is waitpid()'s.
  std::optional<Error> failure(int status) const;
  // For a child that had to be stopped.
  Error took_too_long() const;

 private:
  struct Report;

  [[noreturn]] void run(int messages, std::vector<int> open, const Work& work,
                        const std::function<bool()>& has_product);

  const IsolationArguments& arguments_;
  Console& console_;
  Report* report_;            // memory that both processes have
  std::uint64_t copied_ = 0;  // bytes
  pid_t parent_ = -1, id_ = -1;
};

}  // namespace fxtrace::cli
