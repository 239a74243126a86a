// A command of the command line.
#pragma once

#include <functional>

#include "app/console.h"

namespace CLI {
class App;
}

namespace fxtrace::cli {

struct Command {
  CLI::App* app = nullptr;
  // Runs the command with the parsed options; returns the exit code or throws Error.
  std::function<int(Console&)> run;
};

// Exit codes; the others of errors are in cli.cpp.
inline constexpr int kDone = 0;
inline constexpr int kBadInput = 3;
inline constexpr int kModuleFailed = 4;

}  // namespace fxtrace::cli
