// Text of files, which may hold anything, in what people read.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace {

// Whether the character would do something else than stand there: controls, marks that turn the direction of
// text, line separators, and what nobody sees and no language needs (joiners and variation selectors are
// part of ordinary text).
bool is_unprintable(char32_t c);

// The character as Python writes it in a string: "\n", "\x1b", "\u202e".  `backslash` is how the format at
// hand writes one.
std::string escaped(char32_t c, std::string_view backslash = "\\");

// `text` with every unprintable character escaped, so that different names stay different, and U+FFFD for
// bytes that are no UTF-8.  Everything else, in any language, is as it was.
std::string printable(std::string_view text);

// Of several lines, one.
std::string one_line(std::string_view text);

}  // namespace fxtrace
