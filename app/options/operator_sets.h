// Sets of operators by name or file.
#pragma once

#include <string>

#include "app/console.h"
#include "support/error.h"

namespace fxtrace::cli {

// Returns the text of a file with a set of operators.  Throws Error(kUsage).
std::string read_set_file(const std::string& file, Console& console);

// Returns the error for a name of a set that neither the program contains nor a file has.
Error no_such_set(const std::string& name);

}  // namespace fxtrace::cli
