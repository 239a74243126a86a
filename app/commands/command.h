// The type of a command of the command line, and its exit codes.
#pragma once

#include <functional>

#include "app/console.h"

namespace fxtrace::cli {

// Runs a command with its parsed options; returns the exit code or throws Error.
using Command = std::function<int(Console&)>;

// Exit codes; exit_code() in cli.cpp has those of errors.
inline constexpr int kDone = 0;
inline constexpr int kBadInput = 3;
inline constexpr int kModuleFailed = 4;

}  // namespace fxtrace::cli
