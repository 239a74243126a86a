// Sets of operators by name or file.
#pragma once

#include <string>

#include "app/console.h"
#include "rules/rule.h"

namespace fxtrace::internal::cli {

// Reads a set that the program contains, or else a file, as a rule that it takes every operator.  Throws
// Error(kUsage).
Rule read_backend(const std::string& name, Console& console);
}  // namespace fxtrace::internal::cli
