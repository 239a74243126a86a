// What equal blocks have in common.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace {

// Returns the text with a "#" for each number: "h.#.attn" for "h.11.attn".
inline std::string without_numbers(std::string_view text) {
  std::string result;
  bool is_number = false;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit || !is_number) result += is_digit ? '#' : c;
    is_number = is_digit;
  }
  return result;
}

}  // namespace fxtrace
