#include "app/process/isolation.h"

#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>
#include <CLI/CLI.hpp>

#include "app/exit_codes.h"
#include "app/options/option_checks.h"
#include "app/process/child_process.h"
#include "app/process/isolated_process.h"
#include "support/text/words.h"

namespace fxtrace::internal::cli {

void IsolationArguments::add_to(CLI::App& app) {
  const char* group = "Safety";
  add_value(app, group, "--max-memory", megabytes_, "MB",
            "limit on memory while the model is read, in MiB; 0: no limit. Default 8192");
  add_value(app, group, "--max-time", seconds_, "SECONDS",
            "limit on processor time while the model is read, in seconds; 0: no limit. Default 300");
  app.add_flag("--no-isolation", off_,
               "read the model without the sandbox, a process that can open no files; only for models that "
               "you trust")
      ->group(group);
}

namespace {

// Returns the error with the name of the file that was being read; with all names if that is unknown.
Error with_file(const Error& error, std::size_t file, const std::vector<const InputFile*>& files) {
  if (file < files.size()) return Error(error).at(files[file]->display());
  return Error(error).at(joined(files, &InputFile::display, " and "));
}

std::uint64_t bytes_in(const std::vector<int>& descriptors) {
  std::uint64_t bytes = 0;
  for (const int descriptor : descriptors) {
    struct stat status{};
    if (::fstat(descriptor, &status) == 0) bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

int isolate(const IsolationArguments& arguments, const InputFile& input,
            const std::vector<const InputFile*>& others, Output& output, Console& console, const Work& work) {
  std::vector<const InputFile*> files{&input};
  files.insert(files.end(), others.begin(), others.end());
  for (const InputFile* file : others) output.check_not(*file);
  output.wait_at_most(arguments.seconds());
  const std::vector<int> products = output.prepare();
  if (!arguments.isolates() || !console.owns_process()) {
    Isolated here(console, console.owns_process());
    const auto commit = [&] {
      if (output.is_written()) output.commit();
    };
    try {
      const int code = work(here);
      commit();
      return code;
    } catch (...) {
      commit();
      throw;
    }
  }
  Messages messages(console.colour());
  IsolatedProcess process(arguments, console);
  std::vector<int> kept = products;
  std::uint64_t bytes = 0;
  for (const InputFile* file : files) {
    kept.push_back(file->file().descriptor());
    bytes += file->file().size();
  }
  process.allow_copies_of(bytes);
  process.start(messages.child_end(), std::move(kept), work, [&] { return output.is_written(); });
  messages.begin();
  Watch watch{ByteProgress("writing " + output.display()), [&] { return bytes_in(products); }};
  const auto status = wait_for(process.id(), arguments.seconds_by_the_clock(), &messages, &watch);
  if (!status) throw with_file(process.took_too_long(), process.file(), files);
  if (const auto failure = process.failure(*status)) throw with_file(*failure, process.file(), files);
  if (process.has_product()) output.commit();
  if (const auto error = process.error()) throw *error;
  return WEXITSTATUS(*status);
}

}  // namespace

void Isolated::fail_strict(const Error& what) {
  Run::fail_strict(what);
  console_.error(what);
}

int Isolated::code(int done) const { return has_failed_strict() ? kModuleFailed : done; }

int run_isolated(const IsolationArguments& arguments, const InputFile& input, Output& output,
                 Console& console, TraceOptions& options, const Work& work,
                 const std::vector<const InputFile*>& others) {
  return isolate(arguments, input, others, output, console, [&](Isolated& isolated) {
    at_file(input.file(), [&] { return open_libraries(options, false, isolated); });
    return isolated.code(work(isolated));
  });
}

int run_isolated_with_engine(const IsolationArguments& arguments, const InputFile& input, Output& output,
                             Console& console, TraceOptions& options, const RunningWork& work,
                             const std::vector<const InputFile*>& others) {
  return isolate(arguments, input, others, output, console, [&](Isolated& isolated) {
    const FxtraceEngine* engine =
        at_file(input.file(), [&] { return open_libraries(options, true, isolated); });
    return isolated.code(work(isolated, *engine));
  });
}

}  // namespace fxtrace::internal::cli
