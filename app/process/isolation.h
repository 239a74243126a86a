// Runs everything that touches the content of a model in a sandboxed child process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "app/console.h"
#include "app/output/output.h"
#include "fxtrace/pipeline.h"

namespace CLI {
class App;
}

namespace fxtrace::cli {

// The options of every command that reads a model.  CLI11 writes into this object after add_to(), so it must
// not be moved before parsing ends.
class IsolationArguments {
 public:
  void add_to(CLI::App& app);

  bool isolates() const { return !off_; }
  std::uint64_t memory() const { return megabytes_ << 20; }  // bytes; 0: no limit
  std::uint64_t seconds() const { return seconds_; }         // of processor time; 0: no limit
  // The wall-clock limit, as a waiting process uses no processor time; generous, as the machine may be
  // shared.
  std::uint64_t seconds_by_the_clock() const { return seconds_ * 10; }

 private:
  bool off_ = false;
  std::uint64_t megabytes_ = 8192;
  std::uint64_t seconds_ = 300;
};

// Receives the progress of the work inside the child.
class Isolated : public Stages {
 public:
  static constexpr std::size_t kAllFiles = SIZE_MAX;
  // Which of the input files is read from here on: 0 is the first, as at the beginning.  An error that ends
  // the child names it.
  virtual void reads(std::size_t /*file*/) {}

  // Notes that something was not done that a strict configuration asks for: the exit code of work that is
  // done says so.
  void falls_short() { falls_short_ = true; }
  int code(int done) const;

  // `process_ends` says that the process ends after the work, so that memory need not be freed.
  explicit Isolated(bool process_ends) : process_ends_(process_ends) {}

  // Keeps an object to the end of this, or of the process: destroying a large graph takes as long as building
  // it.
  template <class T>
  T& keep_alive(T value) {
    auto kept = std::make_unique<T>(std::move(value));
    if (process_ends_) return *kept.release();
    T& result = *kept;
    kept_.emplace_back(std::move(kept));
    return result;
  }

 private:
  bool process_ends_;
  bool falls_short_ = false;
  std::vector<std::shared_ptr<void>> kept_;
};

using Work = std::function<int(Isolated&)>;
// `engine` runs the model; see open_libraries().
using RunningWork = std::function<int(Isolated&, const FxtraceEngine& engine)>;

// Loads options.op_libraries (see open_libraries()), then runs work(), which writes its product to `output`,
// and returns its exit code.  If the console owns the process (see Console::owns_process()), work() runs in a
// child that can only read `input`, write the product and write to stderr: before the first byte is read, it
// loses the right to open files.  The product becomes visible only after the child has succeeded.  Throws
// the Error of work(), and Error(kInput) when the child fails: by a signal, or beyond the limits of memory or
// time.
// `others` are further files that work() reads; they must outlive the call.  Throws Error(kUsage) when the
// output would replace one of them.
int run_isolated(const IsolationArguments& arguments, const InputFile& input, Output& output,
                 Console& console, TraceOptions& options, const Work& work,
                 const std::vector<const InputFile*>& others = {});
// Does the same with a child that may run the model with LibTorch.
int run_isolated_with_engine(const IsolationArguments& arguments, const InputFile& input, Output& output,
                             Console& console, TraceOptions& options, const RunningWork& work,
                             const std::vector<const InputFile*>& others = {});

}  // namespace fxtrace::cli
