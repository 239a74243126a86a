// A command of the command line.
#pragma once

#include <functional>

#include "app/console.h"

namespace fxtrace::cli {

// Runs a command with its parsed options; returns the exit code or throws Error.
using Command = std::function<int(Console&)>;

// Exit codes; the others of errors are in cli.cpp.
inline constexpr int kDone = 0;
inline constexpr int kBadInput = 3;
inline constexpr int kModuleFailed = 4;

}  // namespace fxtrace::cli
