#include "writers/formats/python_text.h"

#include <algorithm>
#include <array>

#include "support/text/identifier.h"
#include "support/text/printable.h"
#include "support/text/utf8.h"

namespace fxtrace {
namespace {

constexpr std::array<std::string_view, 35> kKeywords{
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

}  // namespace

std::string python_string(std::string_view text) {
  std::string out = "\"";
  for_each_printable(text, out, "\\", [&](std::string_view bytes, char32_t c) {
    if (c == '"' || c == '\\') out += '\\';
    out += bytes;
  });
  return out += '"';
}

bool is_python_name(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && !text.starts_with("__") &&
         std::ranges::all_of(text, is_word) && !std::ranges::binary_search(kKeywords, text);
}

std::string PythonNames::create(std::string_view candidate) {
  std::string name;
  if (is_python_name(candidate)) {
    name = candidate;
  } else {
    while (candidate.starts_with("__")) candidate.remove_prefix(1);
    if (candidate.empty() || is_digit(candidate[0])) name = "_";
    while (!candidate.empty()) {
      const std::size_t length = first_character(candidate).length;
      name += length == 1 && is_word(candidate[0]) ? candidate[0] : '_';
      candidate.remove_prefix(length);
    }
    if (name == "_" || name.starts_with("__")) name = "x" + name;
  }
  if (is_python_name(name) && try_reserve(name)) return name;
  std::int64_t& number = count_[name];
  std::string numbered;
  do {
    numbered = name + "_" + std::to_string(++number);
  } while (!try_reserve(numbered));
  return numbered;
}

}  // namespace fxtrace
