// The program: streams and signals, nothing else.  What it does is in cli.cpp.
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "app/cli.h"
#include "app/descriptor_stream.h"
#include "app/output.h"

namespace {

// Where a standard stream is closed, the next file that is opened would take its number.  Writing to what
// stands there instead fails, as it does for a closed stream.
void fill_standard_descriptors() {
  int opened = 0;
  do {
    opened = ::open("/dev/null", O_RDONLY);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened > STDERR_FILENO) ::close(opened);
}

void interrupted(int signal) {
  fxtrace::cli::remove_unfinished_output();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  // A closed pipe is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // nor is a file that gets too large for ulimit -f
  std::signal(SIGCHLD, SIG_DFL);  // what a caller may have set: who ignores it cannot wait for a child
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    // What the caller wants ignored (nohup) stays so.
    if (std::signal(signal, interrupted) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);

  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  fxtrace::cli::DescriptorStream out(STDOUT_FILENO);
  const int code = fxtrace::cli::run(args, std::cin, out, std::cerr);
  std::cerr.flush();
  // LibTorch's destructors take 55 ms, and nothing is left for them to do.
  ::_exit(code);
}
