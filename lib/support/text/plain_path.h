// A check that names of modules and parameters may stand in code and in lists.
#pragma once

#include <algorithm>
#include <string_view>

namespace fxtrace::internal {

// Returns whether a name has no quotes, backslashes or control characters: torch writes the names of a
// program into the code of its module.  `quotes`: those that end the literal that the name stands in.
inline bool is_plain_path(std::string_view text, std::string_view quotes = "\"'") {
  return std::ranges::none_of(text, [quotes](char c) {
    return quotes.find(c) != std::string_view::npos || c == '\\' || static_cast<unsigned char>(c) < 0x20 ||
           c == 0x7f;
  });
}

}  // namespace fxtrace::internal
