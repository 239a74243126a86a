#include "app/process/isolation.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/options/option_checks.h"
#include "app/process/child_process.h"
#include "app/process/lockdown.h"
#include "app/process/resource_limits.h"
#include "support/scope_guard.h"
#include "support/system.h"
#include "support/text/signal_name.h"
#include "support/text/words.h"

namespace fxtrace::internal::cli {

void IsolationArguments::add_to(CLI::App& app) {
  const char* group = "Safety";
  auto* memory = add_value(app, group, "--max-memory", megabytes_, "MB",
                           "limit on memory while the model is read, in MiB; 0: no limit. Default 8192");
  const char* refusal = "expected 0, as fxtrace cannot limit memory on this system";
  if (!kCountsMemory) memory->check([=](const std::string& text) { return text == "0" ? "" : refusal; });
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

// The result of the child in shared memory: written by the child, read by the parent after the child has
// ended.
struct IsolatedProcess::Report {
  bool has_product = false;
  Stage stage = Stage::kFxtrace;
  std::size_t file = 0;
  bool is_out_of_memory = false;
  bool has_error = false;
  ErrorKind error_kind = ErrorKind::kInternal;
  // The texts of the error: message, place and hints, each preceded by its length.
  std::size_t texts_size = 0;
  std::array<char, std::size_t{1} << 20> texts;  // takes memory only where it is written to

  void set_error(const Error& error) {
    has_error = true;
    error_kind = error.kind();
    add_text(error.what());
    add_text(error.place());
    for (const std::string& hint : error.hints()) add_text(hint);
  }
  void add_text(std::string_view text) {
    std::uint32_t size = 0;
    const std::size_t left = texts.size() - texts_size;
    if (left < sizeof size) return;
    size = static_cast<std::uint32_t>(std::min(text.size(), left - sizeof size));
    std::memcpy(&texts[texts_size], &size, sizeof size);
    std::copy_n(text.begin(), size, texts.begin() + texts_size + sizeof size);
    texts_size += sizeof size + size;
  }
};

namespace {

constexpr std::uint64_t kMegabytesInGigabyte = 1024;
// The address sanitizer maps more memory than any limit allows.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

std::string memory_text(std::uint64_t bytes) {
  const std::uint64_t megabytes = bytes >> 20;
  return megabytes % kMegabytesInGigabyte == 0 ? std::to_string(megabytes / kMegabytesInGigabyte) + " GiB"
                                               : std::to_string(megabytes) + " MiB";
}

constexpr char kLargerLimit[] = "start fxtrace with a larger limit";

// Returns the soft limit of this process, as its caller set it.
std::uint64_t own_limit(decltype(RLIMIT_DATA) resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

// Names the limit on memory that is reached first: the caller's ulimit may be smaller than --max-memory.
Error out_of_memory(const IsolationArguments& arguments) {
  struct Outer {
    decltype(RLIMIT_DATA) resource;
    const char* name;
  };
  std::uint64_t least = arguments.memory() == 0 ? RLIM_INFINITY : arguments.memory();
  const char* name = nullptr;
  for (const Outer& outer : {Outer{RLIMIT_AS, "ulimit -v"}, Outer{RLIMIT_DATA, "ulimit -d"}}) {
    const std::uint64_t limit = own_limit(outer.resource);
    if (limit >= least) continue;
    least = limit;
    name = outer.name;
  }
  if (least == RLIM_INFINITY) return input_error("this machine is out of memory");
  if (name == nullptr) {
    return input_error("it needed more than " + memory_text(least) + " of memory",
                       {"--max-memory MB allows more"});
  }
  return input_error(
      "it needed more memory than `" + std::string(name) + "` allows (" + memory_text(least) + ")",
      {kLargerLimit});
}

// --- in the child ---

// Points into the Report, for the new handler, which cannot allocate.
bool* is_out_of_memory_here = nullptr;

// Ends the process, since code might take std::bad_alloc for something that the model raised.
[[noreturn]] void end_out_of_memory() {
  *is_out_of_memory_here = true;
  ::_exit(EXIT_FAILURE);
}

// Limits the output, which goes to a file or to memory that no other limit counts.
void limit_output(std::uint64_t bytes) {
  rlimit outer{};
  // A smaller limit of the caller shows as an error of the write.
  if (::getrlimit(RLIMIT_FSIZE, &outer) != 0 || outer.rlim_cur <= bytes) return;
  set_limit(RLIMIT_FSIZE, bytes);
  std::signal(SIGXFSZ, SIG_DFL);  // the signal says why
}

void set_limits(const IsolationArguments& arguments, std::uint64_t copied) {
  if (kLimitsMemory && kCountsMemory && arguments.memory() != 0) set_limit(RLIMIT_DATA, arguments.memory());
  if (arguments.seconds() != 0) set_limit(RLIMIT_CPU, arguments.seconds(), 1);  // the signal says why
  if (arguments.memory() != 0) limit_output(arguments.memory() + copied);
  set_limit(RLIMIT_CORE, 0);
}

class Inside : public Isolated {
 public:
  Inside(Stage& stage, std::size_t& file, Console& console)
      : Isolated(console, true), stage_(stage), file_(file), console_(console) {}
  ~Inside() override { let_messages_out(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  void reads(std::size_t file) override { file_ = file; }
  void begins(Stage stage) override {
    stage_ = stage;
    if (stage == Stage::kLoadLibTorch) {
      hold_back_messages();
      lock(Lockdown::kReadFiles);
    } else {
      let_messages_out();
    }
  }
  void all_is_open(bool runs_model) override {
    for (const std::string& part : lock(runs_model ? Lockdown::kRunModel : Lockdown::kCompute)) {
      console_.warning("isolation: " + part +
                       " is not available here, so the sandbox that reads the model is weaker");
    }
  }

 private:
  // Returns the mechanisms that are missing.  Throws Error(kInput) if there is none at all.
  static std::vector<std::string> lock(Lockdown what) {
    constexpr std::size_t kLocks = 2;
    std::vector<std::string> missing = lock_down(what);
    if (missing.size() < kLocks) return missing;
    throw input_error(
        "this kernel or container has neither seccomp nor Landlock; the sandbox that reads the model needs "
        "one of them",
        {"--no-isolation reads a model that you trust"});
  }

  // The dynamic loader may print a message before it ends the process; the parent has a better one, so
  // messages are held back while LibTorch is loaded.
  void hold_back_messages() {
    held_ = memory_file();
    if (!held_) return;
    stderr_ = Descriptor(::dup(STDERR_FILENO));
    if (stderr_) redirect(STDERR_FILENO, held_.number());
  }
  void let_messages_out() {
    if (!stderr_) return;
    redirect(STDERR_FILENO, stderr_.number());
    stderr_ = Descriptor();
    std::array<char, 4096> text{};
    for (off_t place = 0;;) {
      const ssize_t size = ::pread(held_.number(), text.data(), text.size(), place);
      if (size <= 0 || ::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(size)) < 0) return;
      place += size;
    }
  }

  Stage& stage_;       // for the parent
  std::size_t& file_;  // for the parent
  Console& console_;
  Descriptor held_;    // messages while LibTorch is loaded
  Descriptor stderr_;  // the original stderr, while messages are held back
};

Error ended_by(int signal, const IsolationArguments& arguments, std::uint64_t copied, Stage stage) {
  if (signal == SIGXCPU) {
    if (const auto outer = own_limit(RLIMIT_CPU); outer < arguments.seconds() || arguments.seconds() == 0) {
      return input_error(
          "it needed more processor time than `ulimit -t` allows (" + std::to_string(outer) + " s)",
          {kLargerLimit});
    }
    return input_error("it needed more than " + std::to_string(arguments.seconds()) + " s of processor time",
                       {"--max-time SECONDS allows more"});
  }
  if (signal == SIGXFSZ && arguments.memory() != 0) {
    return input_error("its output is larger than " + memory_text(arguments.memory() + copied),
                       {"--max-memory MB allows more"});
  }
  const std::string name = signal_name(signal);
  if (signal == SIGKILL) {
    return input_error("the process that read it was killed (" + name +
                       "); the machine may be out of memory");
  }
  if (stage == Stage::kLoadLibTorch) {
    return input_error("cannot load LibTorch: a library of it is damaged or of another build (" + name + ")",
                       {"install LibTorch and fxtrace again"});
  }
  if (stage == Stage::kLoadOperators)
    return input_error("loading the libraries of --op-library crashed (" + name + ")");
  if (stage == Stage::kRunModel)
    return input_error("the model crashed while it ran in LibTorch (" + name + ")");
  // Too deep a recursion ends with SIGSEGV; with a stack of the usual size no such case is known.
  constexpr std::uint64_t kUsualStack = std::uint64_t{8} << 20;
  std::vector<std::string> hints;
  if (signal == SIGSEGV && own_limit(RLIMIT_STACK) < kUsualStack) {
    hints = {"the stack is limited to " + std::to_string(own_limit(RLIMIT_STACK) >> 10) +
             " KiB; start fxtrace with a larger `ulimit -s`"};
  }
  return input_error("it made fxtrace crash (" + name + ")", hints);
}

}  // namespace

IsolatedProcess::IsolatedProcess(const IsolationArguments& arguments, Console& console)
    : arguments_(arguments), console_(console) {
  void* shared = ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw input_error("out of memory");
  report_ = new (shared) Report;
}

IsolatedProcess::~IsolatedProcess() { ::munmap(report_, sizeof(Report)); }

void IsolatedProcess::start(int messages, std::vector<int> open, const Work& work,
                            const std::function<bool()>& has_product) {
  parent_ = ::getpid();
  id_ = ::fork();
  if (id_ < 0) {
    throw input_error(std::string("cannot make a process to read the model in: ") + std::strerror(errno),
                      {"--no-isolation reads it in this one"});
  }
  if (id_ == 0) run(messages, std::move(open), work, has_product);
}

void IsolatedProcess::run(int messages, std::vector<int> open, const Work& work,
                          const std::function<bool()>& has_product) {
  ::dup2(messages, STDERR_FILENO);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  end_with_parent();
  if (::getppid() != parent_) std::raise(SIGKILL);
  ::setenv("TZ", "UTC0", 1);  // so that local time, which the log writes, needs no file
  close_others(std::move(open));
  set_limits(arguments_, copied_);
  is_out_of_memory_here = &report_->is_out_of_memory;
  std::set_new_handler(end_out_of_memory);
  int code = EXIT_FAILURE;
  try {
    Inside inside(report_->stage, report_->file, console_);
    code = work(inside);
  } catch (const std::bad_alloc&) {
    end_out_of_memory();
  } catch (const Error& error) {
    report_->set_error(error);
  } catch (const std::exception& error) {
    report_->set_error(internal_error(error));
  }
  report_->has_product = has_product();
  console_.err().flush();
  ::_exit(code);
}

bool IsolatedProcess::has_product() const { return report_->has_product; }
std::size_t IsolatedProcess::file() const { return report_->file; }

std::optional<Error> IsolatedProcess::error() const {
  if (!report_->has_error) return std::nullopt;
  std::string_view rest(report_->texts.data(), std::min(report_->texts_size, report_->texts.size()));
  const auto next = [&] {
    std::uint32_t size = 0;
    if (rest.size() < sizeof size) return std::string();
    std::memcpy(&size, rest.data(), sizeof size);
    std::string text(rest.substr(sizeof size, size));
    rest.remove_prefix(sizeof size + text.size());
    return text;
  };
  const std::string message = next(), place = next();
  std::vector<std::string> hints;
  while (!rest.empty()) hints.push_back(next());
  return Error(report_->error_kind, message, std::move(hints)).at(place);
}

std::optional<Error> IsolatedProcess::failure(int status) const {
  if (report_->is_out_of_memory) return out_of_memory(arguments_);
  if (WIFSIGNALED(status)) return ended_by(WTERMSIG(status), arguments_, copied_, report_->stage);
  // glibc's loader ends the process with 127 when it has no memory for its own message.
  constexpr int kLoaderGaveUp = 127;
  if (WEXITSTATUS(status) == kLoaderGaveUp && report_->stage == Stage::kLoadLibTorch)
    return out_of_memory(arguments_);
  return std::nullopt;
}

Error IsolatedProcess::took_too_long() const {
  return input_error(
      "reading it did not end within " + std::to_string(arguments_.seconds_by_the_clock()) + " s",
      {"--max-time SECONDS allows more"});
}

}  // namespace fxtrace::internal::cli
