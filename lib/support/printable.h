// Makes text of files, which may contain anything, safe for display.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace {

// Returns whether the character has an effect beyond its glyph: controls, direction marks, line separators,
// and invisible characters that no language needs (joiners and variation selectors are part of ordinary
// text).
bool is_unprintable(char32_t c);

// Returns the character as Python's escape sequence: "\n", "\x1b", "\u202e".  `backslash` is the target
// format's spelling of a backslash.
std::string escaped(char32_t c, std::string_view backslash = "\\");

// Returns `text` with every unprintable character escaped, so that different names stay different, and U+FFFD
// for bytes that are not UTF-8.  All other characters, in any language, are unchanged.
std::string printable(std::string_view text);

// Joins several lines into one.
std::string one_line(std::string_view text);

}  // namespace fxtrace
