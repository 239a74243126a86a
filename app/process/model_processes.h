// Reads several models at a time, each in a locked process of its own.
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
#include "support/descriptor.h"
#include "support/error.h"

namespace fxtrace::cli {

class ModelProcesses {
 public:
  // Writes what is wanted of the model.  What it throws ends its process alone.
  using Work = std::function<void(Isolated&, std::ostream&)>;

  // `most` at a time; both references must outlive this.
  ModelProcesses(const IsolationArguments& arguments, Console& console, std::size_t most);
  ~ModelProcesses();  // ends those that still run

  bool is_full() const { return running_.size() + done_.size() >= most_; }
  bool is_empty() const { return running_.empty() && done_.empty(); }
  // Starts work on a model, which `number` identifies.  Its messages are left out.  Without isolation, and
  // where the console does not own this process, the work is done at once.  Throws Error(kInput) when there
  // can be no process.
  void start(std::size_t number, const InputFile& input, const Work& work);

  struct Ended {
    std::size_t number = 0;
    std::optional<Error> failure;  // why there is no product, or only a part
    Descriptor product;
  };
  // Waits for one to end; there must be one.
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

}  // namespace fxtrace::cli
