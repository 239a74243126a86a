// Identifiers of ASCII letters, digits and underscores, as in Python and in fxtrace's formats, independent of
// the locale.
#pragma once

#include <algorithm>
#include <string_view>

namespace fxtrace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c); }

constexpr bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), is_word);
}

}  // namespace fxtrace
