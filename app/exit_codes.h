// The exit codes of fxtrace.
#pragma once

namespace fxtrace::internal::cli {

inline constexpr int kDone = 0;
inline constexpr int kNegative = 1;  // of check and verify, diff --fail-on and --exit-code, catalog --strict
inline constexpr int kWrongUsage = 2;    // ErrorKind::kUsage
inline constexpr int kBadInput = 3;      // ErrorKind::kInput: input, output, memory or time
inline constexpr int kModuleFailed = 4;  // with --strict
inline constexpr int kDefect = 70;       // ErrorKind::kInternal

}  // namespace fxtrace::internal::cli
