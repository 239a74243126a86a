// The exception type for all problems with a file, an option or a model; only cli.cpp converts it to text and
// an exit code.  A module that cannot be traced is not an error but data (Failure in
// graph/graph_collection.h).
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fxtrace::internal {

enum class ErrorKind {
  kUsage,     // wrong options: exit code 2
  kInput,     // the input cannot be read or is not supported: exit code 3
  kInternal,  // a defect in fxtrace itself: exit code 70
};

// Returns the message with "\\0" for zero bytes, at which what() would end.
inline std::string whole_message(std::string message) {
  for (std::size_t at = 0; (at = message.find('\0', at)) != std::string::npos;) message.replace(at, 1, "\\0");
  return message;
}

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::vector<std::string> hints = {})
      : std::runtime_error(whole_message(message)), kind_(kind), hints_(std::move(hints)) {}

  ErrorKind kind() const { return kind_; }
  // The place of the error: a file, followed by a record or a line if known.  Empty for wrong usage.
  const std::string& place() const { return place_; }
  const std::vector<std::string>& hints() const { return hints_; }

  // Sets the place, unless a more precise one is set already.
  Error& at(const std::string& place) {
    if (place_.empty()) place_ = place;
    return *this;
  }

 private:
  ErrorKind kind_;
  std::string place_;
  std::vector<std::string> hints_;
};

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
