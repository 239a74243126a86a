// The command line as a function, for tests, and its exit codes.
#pragma once

#include <exception>
#include <iosfwd>
#include <string>
#include <vector>

#include "support/error.h"

namespace fxtrace::internal::cli {

// The command line as a function, for tests.

// Runs fxtrace with `args` (without the program's name) and returns its exit code.  Never throws; errors are
// written to `err`.  Writing to `out` may throw std::system_error (descriptor_stream.h).  Reads and writes
// the files named in `args`, and changes nothing else of the process.
int run(const std::vector<std::string>& args, std::istream& in, std::ostream& out, std::ostream& err);

// The exit code of fxtrace when an Error of this kind ends it.
int exit_code(ErrorKind kind);
// A defect of fxtrace as an Error.
Error internal_error(const std::exception& defect);

// The exit codes of fxtrace.

inline constexpr int kDone = 0;
inline constexpr int kNegative = 1;  // of check and verify, diff --fail-on and --exit-code, catalog --strict
inline constexpr int kWrongUsage = 2;    // ErrorKind::kUsage
inline constexpr int kBadInput = 3;      // ErrorKind::kInput: input, output, memory or time
inline constexpr int kModuleFailed = 4;  // with --strict
inline constexpr int kDefect = 70;       // ErrorKind::kInternal

}  // namespace fxtrace::internal::cli
