// Names: identifiers, keywords of Python, plain paths and formats.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace fxtrace::internal {

// Identifiers of ASCII letters, digits and underscores, as in Python and in fxtrace's formats, independent of
// the locale.

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

// The keywords of Python, which cannot be names.

constexpr bool is_python_keyword(std::string_view word) {
  constexpr std::array<std::string_view, 35> kKeywords{
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::ranges::binary_search(kKeywords, word);
}

// A check that names of modules and parameters may stand in code and in lists.

// Returns whether a name has no quotes, backslashes or control characters: torch writes the names of a
// program into the code of its module.  `quotes`: those that end the literal that the name stands in.
inline bool is_plain_path(std::string_view text, std::string_view quotes = "\"'") {
  return std::ranges::none_of(text, [quotes](char c) {
    return quotes.find(c) != std::string_view::npos || c == '\\' || static_cast<unsigned char>(c) < 0x20 ||
           c == 0x7f;
  });
}

// A check of formats for str.format().

// Returns whether a format prints its arguments as they are: its fields name arguments and neither attributes
// nor items of them, which Python would look up, and widths have at most four digits.
inline bool is_plain_format(std::string_view format) {
  constexpr std::size_t kMaxSpec = 20, kMaxDigits = 4;
  while (!format.empty()) {
    const char first = format[0];
    format.remove_prefix(1);
    if (first != '{' && first != '}') continue;
    if (format.starts_with(first)) {  // {{ and }} stand for a brace
      format.remove_prefix(1);
      continue;
    }
    const std::size_t end = format.find('}');
    if (first == '}' || end == std::string_view::npos) return false;
    const std::string_view field = format.substr(0, end);
    const std::string_view spec = field.substr(std::min(field.find(':'), field.size()));
    std::string_view name = field.substr(0, field.size() - spec.size());
    if (name.ends_with("!r") || name.ends_with("!s") || name.ends_with("!a")) name.remove_suffix(2);
    std::size_t digits = 0;
    for (const char c : spec) {
      digits = is_digit(c) ? digits + 1 : 0;
      if (digits > kMaxDigits || c == '{') return false;
    }
    if (!std::ranges::all_of(name, is_word) || spec.size() > kMaxSpec) return false;
    format.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace fxtrace::internal
