// Decoding of UTF-8 that may be malformed, as names come from unchecked files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
