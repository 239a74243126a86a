// Reads several models in parallel, each in its own sandboxed process.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <ostream>

#include "app/console.h"
#include "app/output/files.h"
#include "app/process/isolation.h"
#include "support/error.h"
#include "support/scope_guard.h"

namespace fxtrace::internal::cli {

class ModelProcesses {
 public:
  // Writes the product to the stream.  An exception ends only the process of this model.
  using Work = std::function<void(Isolated&, std::ostream&)>;

  // Runs at most `most` processes at a time; both references must outlive this.
  ModelProcesses(const IsolationArguments& arguments, Console& console, std::size_t most);
  ~ModelProcesses();  // kills the processes that still run

  bool is_full() const { return running_.size() + done_.size() >= most_; }
  bool is_empty() const { return running_.empty() && done_.empty(); }
  // Starts work on a model, which `number` identifies.  Its messages are dropped.  Without isolation, and if
  // the console does not own this process, does the work at once.  Throws Error(kInput) if no process can be
  // created.
  void start(std::size_t number, const InputFile& input, const Work& work);

  struct Ended {
    std::size_t number = 0;
    std::optional<Error> failure;  // why there is no product, or only a part
    Descriptor product;
  };
  // Waits until one process ends; there must be one.
  Ended wait();

 private:
  struct Running;

  void run_here(std::size_t number, const Work& work, Descriptor product);
  std::optional<Ended> find_ended();

  const IsolationArguments& arguments_;
  Console& console_;
  std::size_t most_;
  std::list<Running> running_;
  std::deque<Ended> done_;
};

}  // namespace fxtrace::internal::cli
