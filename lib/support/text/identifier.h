// Identifiers of ASCII letters, digits and underscores, as in Python and in fxtrace's formats, independent of
// the locale.
#pragma once

#include <algorithm>
#include <string_view>

namespace fxtrace::internal {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c); }

constexpr bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), is_word);
}

// Returns whether the text has letters, digits, underscores and dots alone, which torch writes and reads as a
// path of names.
constexpr bool is_dotted_name(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_word(c) || c == '.'; });
}

// Returns the position of the first occurrence of the name that is neither part of a longer name nor an
// attribute (".name"); npos when there is none.
inline std::size_t find_identifier(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || (!is_word(text[at - 1]) && text[at - 1] != '.');
    if (begins && (end == text.size() || !is_word(text[end]))) return at;
  }
  return std::string_view::npos;
}

inline bool has_identifier(std::string_view text, std::string_view name) {
  return find_identifier(text, name) != std::string_view::npos;
}

}  // namespace fxtrace::internal
