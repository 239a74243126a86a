#include "app/isolation.h"

#include <vector>

#include <sys/wait.h>
#include <CLI/CLI.hpp>

#include "app/child_process.h"
#include "app/isolated_process.h"
#include "app/model.h"

namespace fxtrace::cli {

void IsolationArguments::add_to(CLI::App& app) {
  app.add_option("--max-memory", megabytes_,
                 "most memory that reading the model may take, in MiB; 0 for any. Default 8192")
      ->type_name("MB")
      ->group("Safety");
  app.add_option("--max-time", seconds_,
                 "most processor time that reading the model may take, in seconds; 0 for any. Default 300")
      ->type_name("SECONDS")
      ->group("Safety");
  app.add_flag("--no-isolation", off_,
               "read the model in this process, not in one that can neither open nor write a file")
      ->group("Safety");
}

namespace {

// `open`: the descriptors that the work reads.
int isolate(const IsolationArguments& arguments, const InputFile& input, const std::vector<int>& open,
            Output& output, Console& console, const Work& work) {
  const int product = output.prepare();
  if (!arguments.isolates() || !console.owns_process()) {
    Isolated here(console.owns_process());
    return run_with([&] { return work(here); },
                    [&] {
                      if (output.is_written()) output.commit();
                    });
  }
  Messages messages(console.colour());
  IsolatedProcess process(arguments, console);
  if (process.start()) {
    messages.become_stderr();
    std::vector<int> kept = open;
    kept.push_back(product);
    return process.run(std::move(kept), work, [&] { return output.is_written(); });
  }
  messages.begin();
  const auto status = wait_for(process.id(), arguments.seconds_by_the_clock(), &messages);
  if (!status) throw input.with_display(process.took_too_long());
  if (const auto failure = process.failure(*status)) throw input.with_display(*failure);
  if (process.has_product()) output.commit();
  return WEXITSTATUS(*status);
}

}  // namespace

int run_isolated(const IsolationArguments& arguments, const InputFile& input, Output& output,
                 Console& console, TraceOptions& options, const Work& work, std::vector<int> also_open) {
  also_open.push_back(input.file().descriptor());
  return isolate(arguments, input, also_open, output, console, [&](Isolated& isolated) {
    with_input(input, [&] { return open_libraries(options, false, listener_of(console), isolated); });
    return work(isolated);
  });
}

int run_isolated_with_engine(const IsolationArguments& arguments, const InputFile& input, Output& output,
                             Console& console, TraceOptions& options, const std::vector<int>& also_open,
                             const RunningWork& work) {
  std::vector<int> open = also_open;
  open.push_back(input.file().descriptor());
  return isolate(arguments, input, open, output, console, [&](Isolated& isolated) {
    const FxtraceEngine* engine =
        with_input(input, [&] { return open_libraries(options, true, listener_of(console), isolated); });
    return work(isolated, *engine);
  });
}

}  // namespace fxtrace::cli
