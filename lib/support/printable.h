// Text of files, which may hold anything, in what people read.
#pragma once

#include <string>
#include <string_view>

#include "support/utf8.h"

namespace fxtrace {

// Whether the character would do something else than stand there: controls, marks that turn the direction of
// text, line separators, and what nobody sees and no language needs (joiners and variation selectors are
// part of ordinary text).
bool is_unprintable(char32_t c);

// The character as Python writes it in a string: "\n", "\x1b", "\u202e".  `backslash` is how the format at
// hand writes one.
std::string escaped(char32_t c, std::string_view backslash = "\\");

// Calls write(bytes, character) for the printable characters of `text`, and appends the others, escaped, to
// `out`.  Bytes that are no UTF-8 come as U+FFFD.
template <class Write>
void for_each_printable(std::string_view text, std::string& out, std::string_view backslash,
                        const Write& write) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    text.remove_prefix(character.length);
    const char32_t c = code_point(character.bytes);
    if (is_unprintable(c)) {
      out += escaped(c, backslash);
    } else {
      write(character.bytes, c);
    }
  }
}

// `text` with every unprintable character escaped, so that different names stay different, and U+FFFD for
// bytes that are no UTF-8.  Everything else, in any language, is as it was.
std::string printable(std::string_view text);

// Of several lines, one.
std::string one_line(std::string_view text);

}  // namespace fxtrace
