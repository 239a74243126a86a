// What the library throws.  A module that cannot be traced is not an error but data: Module::failure().
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fxtrace {

enum class ErrorKind {
  kUsage,     // wrong options: exit code 2 of the program
  kInput,     // the input cannot be read or is not supported: exit code 3
  kInternal,  // a defect in fxtrace itself: exit code 70
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::vector<std::string> hints = {})
      : std::runtime_error(whole(message)), kind_(kind), hints_(std::move(hints)) {}

  ErrorKind kind() const { return kind_; }
  // The file that the error is about, followed by a record or a line if known; empty where there is none.
  const std::string& place() const { return place_; }
  // The path of the module that the error is about; empty for others, and for the root.
  const std::string& module() const { return module_; }
  const std::vector<std::string>& hints() const { return hints_; }

  // Sets the place, unless a more precise one is set already.
  Error& at(const std::string& place) {
    if (place_.empty()) place_ = place;
    return *this;
  }
  Error& in(std::string module) {
    module_ = std::move(module);
    return *this;
  }

 private:
  // Returns the message with "\\0" for zero bytes, at which what() would end.
  static std::string whole(std::string message) {
    for (std::size_t at = 0; (at = message.find('\0', at)) != std::string::npos;)
      message.replace(at, 1, "\\0");
    return message;
  }

  ErrorKind kind_;
  std::string place_, module_;
  std::vector<std::string> hints_;
};

}  // namespace fxtrace
