#include "writers/formats/python_text.h"

#include <algorithm>
#include <array>

#include "support/text/identifier.h"
#include "support/text/printable.h"
#include "support/text/python_keyword.h"
#include "support/text/utf8.h"

namespace fxtrace::internal {
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
         std::ranges::all_of(text, is_word) && !is_python_keyword(text);
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

}  // namespace fxtrace::internal
