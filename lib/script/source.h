// Text of a code file, and places in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace fxtrace::script {

class SourceText {
 public:
  SourceText(std::string name, std::string text);
  SourceText(const SourceText&) = delete;
  SourceText& operator=(const SourceText&) = delete;

  const std::string& name() const { return name_; }  // "code/__torch__/nets.py"
  std::string_view text() const { return text_; }
  // Both start at 1 and 0, as Python counts.
  std::size_t line_of(std::size_t offset) const;
  std::size_t column_of(std::size_t offset) const;
  std::string_view line(std::size_t number) const;  // without its end

 private:
  std::string name_, text_;
  mutable std::vector<std::uint32_t> line_starts_;  // made when a line is first asked for
};

// Bytes of a file.  The text is owned by who read the file, and outlives every range.
struct SourceRange {
  const SourceText* source = nullptr;
  std::uint32_t begin = 0, end = 0;

  bool is_known() const { return source != nullptr; }
};

// Code that cannot be read or compiled: Error(kInput), whose text has an excerpt behind the message:
//     x = torch.foo(y)
//         ~~~~~~~~~ <--- HERE
class SourceError : public Error {
 public:
  SourceError(const SourceRange& range, const std::string& message);

  const SourceRange& range() const { return range_; }
  const std::string& message() const { return message_; }

 private:
  SourceRange range_;
  std::string message_;
};

}  // namespace fxtrace::script
