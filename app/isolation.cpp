#include "app/isolation.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "app/child_process.h"
#include "app/commands/command.h"
#include "app/limits.h"
#include "app/lockdown.h"
#include "app/model.h"
#include "support/descriptor.h"
#include "support/log.h"

namespace fxtrace::cli {
namespace {

constexpr std::uint64_t kMegabytesInGigabyte = 1024;
// The address sanitizer has more memory mapped than any limit allows.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

// Written by the child, read by the parent when the child is gone.
struct Report {
  bool has_product = false;
  Stage stage = Stage::kFxtrace;
  bool is_out_of_memory = false;
};

// Memory that both have.
class SharedReport {
 public:
  SharedReport()
      : report_(::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (report_ == MAP_FAILED) throw input_error("out of memory");
    new (report_) Report;
  }
  ~SharedReport() { ::munmap(report_, sizeof(Report)); }
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;
  Report* operator->() { return get(); }
  Report* get() { return static_cast<Report*>(report_); }

 private:
  void* report_;
};

std::string memory_text(std::uint64_t bytes) {
  const std::uint64_t megabytes = bytes >> 20;
  return megabytes % kMegabytesInGigabyte == 0 ? std::to_string(megabytes / kMegabytesInGigabyte) + " GiB"
                                               : std::to_string(megabytes) + " MiB";
}

constexpr char kLargerLimit[] = "start fxtrace with a larger limit";

// Of this process, as its caller set it.
std::uint64_t own_limit(decltype(RLIMIT_DATA) resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

// Of the limits on memory the one that is reached first: what the caller allows may be less than
// --max-memory.
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

// --- inside ---

// Of this process, for who has no memory to say anything.
Report* report_of_this_process = nullptr;

// Ends the process: std::bad_alloc could be taken for something that the model did.
[[noreturn]] void end_out_of_memory() {
  report_of_this_process->is_out_of_memory = true;
  ::_exit(EXIT_FAILURE);
}

// What is written goes to a file or to memory that no other limit counts.
void limit_output(std::uint64_t bytes) {
  rlimit outer{};
  // A smaller limit of the caller is an error of the write.
  if (::getrlimit(RLIMIT_FSIZE, &outer) != 0 || outer.rlim_cur <= bytes) return;
  set_limit(RLIMIT_FSIZE, bytes);
  std::signal(SIGXFSZ, SIG_DFL);  // the signal says why
}

void set_limits(const IsolationArguments& arguments) {
  // What is written to and belongs to nobody else; addresses alone cost nothing.
  if (kLimitsMemory && arguments.memory() != 0) set_limit(RLIMIT_DATA, arguments.memory());
  if (arguments.seconds() != 0) set_limit(RLIMIT_CPU, arguments.seconds(), 1);  // the signal says why
  if (arguments.memory() != 0) limit_output(arguments.memory());
  set_limit(RLIMIT_CORE, 0);
}

class Inside : public Isolated {
 public:
  Inside(SharedReport& report, Console& console) : Isolated(true), report_(report), console_(console) {}
  ~Inside() override { let_messages_out(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  void begins(Stage stage) override {
    report_->stage = stage;
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
                       " is not available here, so one lock less keeps the model from this machine");
    }
  }

 private:
  // Gives back what is missing.  Throws Error(kInput) where nothing of this is to be had.
  static std::vector<std::string> lock(Lockdown what) {
    constexpr std::size_t kLocks = 2;
    std::vector<std::string> missing = lock_down(what);
    if (missing.size() < kLocks) return missing;
    throw input_error(
        "this kernel or container has neither seccomp nor Landlock, which keep the model from this machine",
        {"--no-isolation reads a model that you trust"});
  }

  // What the dynamic loader says before it ends the process, the parent says better.
  void hold_back_messages() {
    held_ = Descriptor(::memfd_create("fxtrace", MFD_CLOEXEC));
    if (!held_) return;
    stderr_ = Descriptor(::dup(STDERR_FILENO));
    if (stderr_) ::dup3(held_.number(), STDERR_FILENO, 0);
  }
  void let_messages_out() {
    if (!stderr_) return;
    ::dup3(stderr_.number(), STDERR_FILENO, 0);
    stderr_ = Descriptor();
    std::array<char, 4096> text{};
    for (off_t place = 0;;) {
      const ssize_t size = ::pread(held_.number(), text.data(), text.size(), place);
      if (size <= 0 || ::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(size)) < 0) return;
      place += size;
    }
  }

  SharedReport& report_;
  Console& console_;
  Descriptor held_;    // messages while LibTorch is loaded
  Descriptor stderr_;  // as it was, while they are held back
};

// Calls f(), and at_end() however that ends.
template <class F, class G>
int run_with(F&& f, G&& at_end) {
  try {
    const int code = f();
    at_end();
    return code;
  } catch (...) {
    at_end();
    throw;
  }
}

int run_inside(const IsolationArguments& arguments, std::vector<int> open, Output& output, Console& console,
               int product, pid_t parent, SharedReport& report, Messages& messages, const Work& work) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::raise(SIGKILL);
  messages.become_stderr();
  ::setenv("TZ", "UTC0", 1);  // whoever asks for the time of day, as the log does, needs no file then
  open.push_back(product);
  close_others(std::move(open));
  set_limits(arguments);
  report_of_this_process = report.get();
  std::set_new_handler(end_out_of_memory);
  Inside inside(report, console);
  try {
    return run_with([&] { return work(inside); }, [&] { report->has_product = output.is_written(); });
  } catch (const std::bad_alloc&) {
    end_out_of_memory();
  }
}

// --- outside ---

Error ended_by(int signal, const IsolationArguments& arguments, Stage stage) {
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
    return input_error("its output is larger than " + memory_text(arguments.memory()),
                       {"--max-memory MB allows more"});
  }
  const std::string name = std::string("SIG") + ::sigabbrev_np(signal);
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
  // Too deep a recursion ends so; with a stack as is usual none is known.
  constexpr std::uint64_t kUsualStack = std::uint64_t{8} << 20;
  std::vector<std::string> hints;
  if (signal == SIGSEGV && own_limit(RLIMIT_STACK) < kUsualStack) {
    hints = {"the stack is limited to " + std::to_string(own_limit(RLIMIT_STACK) >> 10) +
             " KiB; start fxtrace with a larger `ulimit -s`"};
  }
  return input_error("it made fxtrace crash (" + name + ")", hints);
}

}  // namespace

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
  SharedReport report;
  Messages messages(console.colour());
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    throw input_error(std::string("cannot make a process to read the model in: ") + std::strerror(errno),
                      {"--no-isolation reads it in this one"});
  }
  if (child == 0)
    return run_inside(arguments, open, output, console, product, parent, report, messages, work);

  messages.begin();
  const auto status = wait_for(child, arguments.seconds_by_the_clock(), &messages);
  if (!status) {
    throw input.with_display(input_error(
        "reading it did not end within " + std::to_string(arguments.seconds_by_the_clock()) + " s",
        {"--max-time SECONDS allows more"}));
  }
  if (report->is_out_of_memory) throw input.with_display(out_of_memory(arguments));
  if (WIFSIGNALED(*status)) {
    throw input.with_display(ended_by(WTERMSIG(*status), arguments, report->stage));
  }
  // glibc's loader ends the process where it has no memory for what it wants to say.
  constexpr int kLoaderGaveUp = 127;
  if (WEXITSTATUS(*status) == kLoaderGaveUp && report->stage == Stage::kLoadLibTorch) {
    throw input.with_display(out_of_memory(arguments));
  }
  if (report->has_product) output.commit();
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
