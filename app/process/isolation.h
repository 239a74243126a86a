// Isolation: everything that interprets the content of a model runs in a sandboxed child process.
//
// A model file is untrusted input.  Its pickles, zip headers and code go through parsers, a compiler and a
// tracer, and any of them may have a defect that the file exploits.  So the work of a command runs in a
// forked child, which has no rights left by the time it reads the model, and the parent only waits for it
// and moves its product to where the user wants it.
//
// Invariants, where Console::owns_process() holds and --no-isolation is not given:
//
// 1. The parent opens the inputs and the place for the product (Output::prepare()) before the fork.  Of a
//    model's content it reads nothing, but for input from a pipe, which it copies to a temporary file and of
//    which it looks at the first characters to choose a limit.
// 2. The child keeps the descriptors of the inputs and of the product, and a pipe as stderr (/dev/null for
//    the processes of `catalog`).  All others are closed, and stdin and stdout are /dev/null.
// 3. The limits are set before work() starts: --max-memory is RLIMIT_DATA, --max-time is RLIMIT_CPU, and
//    RLIMIT_FSIZE is --max-memory plus the size of the inputs.  The parent kills a child that runs for ten
//    times --max-time by the clock.
// 4. Rights are taken in this order: if LibTorch or libraries of --op-library are needed, the child locks
//    itself down to Lockdown::kReadFiles and loads them; then it locks itself down to kCompute, or to
//    kRunModel if LibTorch runs the model; only then does it read the model.
// 5. From the child the parent takes the status of waitpid(), the shared IsolatedProcess::Report (read after
//    the child has ended; lengths and indices in it are checked), and text on the pipe, of which it prints
//    at most 4 MiB with unprintable characters escaped.
// 6. The product is moved only after the child has ended by itself and has reported a complete product.
//    This includes a child whose work() threw after it wrote.  Output copies or renames the product without
//    a look at it; whoever parses a product in the parent (DOT in output/graphviz.h, reports of `check`,
//    rows of `catalog`) has to treat it as untrusted too.
// 7. A signal, a limit of memory or output, and a limit of time end as one Error of kind kInput at the file
//    that was being read; an exception of work() ends as its Error.
//
// Example: `fxtrace trace model.pt -o model.json --max-memory 1024`, with a model that needs 3 GiB.
//   The parent opens model.pt, creates a file without a name beside model.json, and forks.
//   The child sets RLIMIT_DATA to 1 GiB, locks itself down to kCompute, and starts to read.
//   An allocation fails.  The new handler sets Report::is_out_of_memory and ends the child at once, since
//   code might take std::bad_alloc for something that the model raised.
//   The parent prints "fxtrace: error: model.pt: it needed more than 1 GiB of memory" with the hint
//   "--max-memory MB allows more", and exits with 3.  model.json is as it was.
// With a crash instead, the line would be "it made fxtrace crash (SIGSEGV)"; with a limit of time, "it needed
// more than 300 s of processor time".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "app/console.h"
#include "app/output/output.h"
#include "pipelines/read_model.h"
#include "support/error.h"

namespace CLI {
class App;
}  // namespace CLI

namespace fxtrace::internal::cli {

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

// The work inside the child.  An error that ends the child names the file of Run::reads().
class Isolated : public Run {
 public:
  explicit Isolated(Console& console, bool process_ends)
      : Run(listener_of(console), process_ends), console_(console) {}

  void fail_strict(const Error& what) override;  // tells the console
  // Returns `done`, or kModuleFailed if something fell short.
  int code(int done) const;

 private:
  Console& console_;
};

using Work = std::function<int(Isolated&)>;
// `engine` runs the model; see open_libraries().
using RunningWork = std::function<int(Isolated&, const FxtraceEngine& engine)>;

// Loads options.op_libraries (see open_libraries()), then runs work(), which writes its product to `output`,
// and returns its exit code.  If the console owns the process (see Console::owns_process()), work() runs in a
// child that can only read the inputs, write the product and write to stderr.  Throws the Error of work(),
// and Error(kInput) when the child fails: by a signal, or by a limit of memory or time. `others` are further
// files that work() reads; they must outlive the call.  Throws Error(kUsage) when the output would replace
// one of them.
int run_isolated(const IsolationArguments& arguments, const InputFile& input, Output& output,
                 Console& console, TraceOptions& options, const Work& work,
                 const std::vector<const InputFile*>& others = {});
// Does the same with a child that may run the model with LibTorch.
int run_isolated_with_engine(const IsolationArguments& arguments, const InputFile& input, Output& output,
                             Console& console, TraceOptions& options, const RunningWork& work,
                             const std::vector<const InputFile*>& others = {});

// One sandboxed child process, for which its owner waits.  isolation.h has the design.

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
