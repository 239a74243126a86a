// The command line as a function, so that tests can call it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace fxtrace::cli {

// Runs fxtrace with `args` (without the program's name) and returns its exit code.  Never throws; what goes
// wrong is said on `err`.  `out` may throw std::system_error where it fails (descriptor_stream.h).  Files
// named in `args` are read and written; nothing else of the process is changed.
int run(const std::vector<std::string>& args, std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace fxtrace::cli
