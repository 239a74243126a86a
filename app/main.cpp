// The program: streams and signals, nothing else.  What it does is in cli.cpp.
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "app/cli.h"

int main(int argc, char** argv) {
  // A closed pipe is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);

  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int code = fxtrace::cli::run(args, std::cin, std::cout, std::cerr);
  std::cout.flush();
  std::cerr.flush();
  // LibTorch's destructors take 55 ms, and nothing is left for them to do.
  ::_exit(code);
}
