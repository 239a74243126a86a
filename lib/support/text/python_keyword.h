// The keywords of Python, which cannot be names.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace fxtrace::internal {

constexpr bool is_python_keyword(std::string_view word) {
  constexpr std::array<std::string_view, 35> kKeywords{
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::ranges::binary_search(kKeywords, word);
}

}  // namespace fxtrace::internal
