// The type of a command of the command line.
#pragma once

#include <functional>

#include "app/console.h"

namespace fxtrace::internal::cli {

// Runs a command with its parsed options; returns the exit code (exit_codes.h) or throws Error.
using Command = std::function<int(Console&)>;

}  // namespace fxtrace::internal::cli
