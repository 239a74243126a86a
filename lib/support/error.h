// Making and passing on errors (fxtrace/error.h): all problems with a file, an option or a model; only
// cli.cpp converts them to text and an exit code.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "fxtrace/error.h"

namespace fxtrace::internal {

using fxtrace::Error;
using fxtrace::ErrorKind;

inline Error usage_error(const std::string& message, std::vector<std::string> hints = {}) {
  return {ErrorKind::kUsage, message, std::move(hints)};
}
inline Error input_error(const std::string& message, std::vector<std::string> hints = {}) {
  return {ErrorKind::kInput, message, std::move(hints)};
}

// Rethrows an exception that the model did not cause, an Error or exhausted memory.  For handlers that
// attribute all others to the model.
inline void rethrow_what_is_not_the_models(const std::exception& caught) {
  if (dynamic_cast<const Error*>(&caught) != nullptr ||
      dynamic_cast<const std::bad_alloc*>(&caught) != nullptr)
    throw;
}

}  // namespace fxtrace::internal
