// A check that names of modules and parameters may stand in code and in lists.
#pragma once

#include <algorithm>
#include <string_view>

namespace fxtrace {

// Returns whether a name has no quotes, backslashes or control characters: torch writes the names of a
// program into the code of its module.
inline bool is_plain_path(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    return c == '"' || c == '\'' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

}  // namespace fxtrace
