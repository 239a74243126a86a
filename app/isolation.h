// A process of its own for whatever touches the content of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "app/console.h"
#include "app/output.h"
#include "fxtrace/pipeline.h"

namespace CLI {
class App;
}

namespace fxtrace::cli {

// The options of every command that reads a model.  add_to() fills it while CLI11 parses, so it must stay
// where it is until then.
class IsolationArguments {
 public:
  void add_to(CLI::App& app);

  bool isolates() const { return !off_; }
  std::uint64_t memory() const { return megabytes_ << 20; }  // bytes; 0: as much as there is
  std::uint64_t seconds() const { return seconds_; }         // of processor time; 0: any
  // A process that waits uses no processor time; one that is not alone gets less of it.
  std::uint64_t seconds_by_the_clock() const { return seconds_ * 10; }

 private:
  bool off_ = false;
  std::uint64_t megabytes_ = 8192;
  std::uint64_t seconds_ = 300;
};

// What the work says of itself, inside.
class Isolated : public Stages {
 public:
  // `process_ends`: when this does, so that nobody needs the memory.
  explicit Isolated(bool process_ends) : process_ends_(process_ends) {}

  // To the end of this, or of the process: taking a large graph apart takes as long as making it.
  template <class T>
  T& keep(T value) {
    auto kept = std::make_unique<T>(std::move(value));
    if (process_ends_) return *kept.release();
    T& result = *kept;
    kept_.emplace_back(std::move(kept));
    return result;
  }

 private:
  bool process_ends_;
  std::vector<std::shared_ptr<void>> kept_;
};

using Work = std::function<int(Isolated&)>;
// `engine`: what runs models, for who asks for it; see open_libraries().
using RunningWork = std::function<int(Isolated&, const FxtraceEngine& engine)>;

// Loads options.op_libraries (see open_libraries()), then runs work(), which writes its product to `output`,
// and gives back its exit code.  Where the console belongs to a process of its own (see cli.h), that is in a
// child which can do nothing but read `input`, write the product and say what it has to say on stderr: from
// before the first byte is read, it opens nothing.  The product is seen only when the child has ended well.
// Throws Error(kInput) when it did not: for a signal, more memory or more time than allowed.
// `also_open`: other descriptors that the work reads.
int run_isolated(const IsolationArguments& arguments, const InputFile& input, Output& output,
                 Console& console, TraceOptions& options, const Work& work, std::vector<int> also_open = {});
// The same, and the child may run the model with LibTorch.
int run_isolated_with_engine(const IsolationArguments& arguments, const InputFile& input, Output& output,
                             Console& console, TraceOptions& options, const std::vector<int>& also_open,
                             const RunningWork& work);

}  // namespace fxtrace::cli
