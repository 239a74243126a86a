// The main function: sets up streams and signals, and calls run() of cli.cpp.
#include <algorithm>
#include <csignal>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/cli.h"
#include "support/descriptor_stream.h"
#include "support/file_aside.h"

namespace {

// Opens /dev/null in place of closed standard streams, whose numbers the next files would take otherwise.
// Writing to it fails, as it does for a closed stream.
void fill_standard_descriptors() {
  int opened = 0;
  do {
    opened = ::open("/dev/null", O_RDONLY);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened > STDERR_FILENO) ::close(opened);
}

// Raises the limit on the stack if it is small and may be raised.  Returns whether it is large enough to run
// at all.
bool provide_stack() {
  constexpr rlim_t kLeast = rlim_t{512} << 10;
  constexpr rlim_t kUsual = rlim_t{8} << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kUsual) return true;
  limit.rlim_cur = std::min(limit.rlim_max, kUsual);
  ::setrlimit(RLIMIT_STACK, &limit);
  return limit.rlim_cur >= kLeast;
}

void interrupted(int signal) {
  fxtrace::internal::remove_files_aside();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  if (!provide_stack()) {
    constexpr std::string_view kMessage =
        "fxtrace: error: the stack is limited to less than 512 KiB\n"
        "hint: start fxtrace with a larger `ulimit -s`\n";
    static_cast<void>(!::write(STDERR_FILENO, kMessage.data(), kMessage.size()));
    ::_exit(fxtrace::internal::cli::kBadInput);
  }
  fill_standard_descriptors();
  // A closed pipe is an error of the write, and does not end the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // likewise a file that gets larger than `ulimit -f`
  std::signal(SIGCHLD, SIG_DFL);  // a caller may have set SIG_IGN, with which no child can be waited for
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    // Signals that the caller ignores (nohup) stay ignored.
    if (std::signal(signal, interrupted) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);

  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  fxtrace::internal::DescriptorStream out(STDOUT_FILENO);
  const int code = fxtrace::internal::cli::run(args, std::cin, out, std::cerr);
  std::cerr.flush();
  // LibTorch's destructors take 55 ms, and nothing is left for them to do.
  ::_exit(code);
}
