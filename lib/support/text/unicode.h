// UTF-8 of unchecked files: decoding, and escapes of what cannot be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fxtrace::internal {

// Decoding of UTF-8 that may be malformed, as names come from unchecked files.

struct Utf8Character {
  std::string_view bytes;  // the character, or U+FFFD for malformed bytes
  std::size_t length = 0;  // number of bytes of the text consumed, at least one
  bool valid = false;
};

// Returns the first character of `text`, which must not be empty.  In malformed text (overlong forms,
// surrogates and numbers beyond U+10FFFF included), the longest valid prefix of a character counts as one, as
// in Python and the Unicode standard.
Utf8Character first_character(std::string_view text);

// Returns `text` with U+FFFD for malformed bytes.
std::string valid_utf8(std::string_view text);

// Returns the code point of a character of valid UTF-8.
char32_t code_point(std::string_view bytes);

enum class Keep { kStart, kEnd };

// Returns `text` cut to at most `limit` characters, with an ellipsis at the end that is not kept.  0 means no
// limit.  Malformed bytes become U+FFFD.
std::string cut(std::string_view text, std::size_t limit, Keep keep = Keep::kStart);

// Escaping of texts from files, which may contain anything, for display.

// Returns whether the character has an effect beyond its glyph: controls, direction marks, line separators,
// and invisible characters that no language needs (joiners and variation selectors are part of ordinary
// text).
bool is_unprintable(char32_t c);

// Returns the character as Python's escape sequence: "\n", "\x1b", "\u202e".  `backslash` is the target
// format's spelling of a backslash.
std::string escaped(char32_t c, std::string_view backslash = "\\");

// Calls write(bytes, character) for the printable characters of `text`, and appends the others, escaped, to
// `out`.  Malformed bytes come as U+FFFD.
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

// Returns `text` with every unprintable character escaped, so that different names stay different, and U+FFFD
// for bytes that are not UTF-8.  All other characters, in any language, are unchanged.
std::string printable(std::string_view text);

// Joins several lines into one.
std::string one_line(std::string_view text);

// Returns one line of at most 200 characters, for text of a file inside a message.
std::string short_line(std::string_view text);

}  // namespace fxtrace::internal
