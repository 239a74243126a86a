// The text of a code file, and positions in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace fxtrace::torchscript {

class SourceText {
 public:
  SourceText(std::string name, std::string text);
  SourceText(const SourceText&) = delete;
  SourceText& operator=(const SourceText&) = delete;

  const std::string& name() const { return name_; }  // "code/__torch__/nets.py"
  std::string_view text() const { return text_; }
  // Lines are counted from 1, columns from 0, as in Python.
  std::size_t line_of(std::size_t offset) const;
  std::size_t column_of(std::size_t offset) const;
  std::string_view line(std::size_t number) const;  // without the newline

 private:
  std::string name_, text_;
  mutable std::vector<std::uint32_t> line_starts_;  // built on first use
};

// A range of bytes of a file.  The text must outlive all ranges.
struct SourceRange {
  const SourceText* source = nullptr;
  std::uint32_t begin = 0, end = 0;

  bool is_known() const { return source != nullptr; }
};

// Thrown for code that cannot be parsed or compiled: an Error(kInput) whose text ends with an excerpt:
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

}  // namespace fxtrace::torchscript
