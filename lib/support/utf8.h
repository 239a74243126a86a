// UTF-8 that may be damaged: names come from files that nobody has checked.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fxtrace {

struct Utf8Character {
  std::string_view bytes;  // what to write: the character itself, or U+FFFD for bytes that are no UTF-8
  std::size_t length = 0;  // bytes of the text that it stands for, at least one
  bool valid = false;
};

// The character at the start of `text`, which must not be empty.  Of bytes that are no UTF-8 (overlong forms,
// surrogates and numbers beyond U+10FFFF too), the longest start of a character counts as one, as Python and
// the Unicode standard have it.
Utf8Character first_character(std::string_view text);

// The number of a character of valid UTF-8.
char32_t code_point(std::string_view bytes);

enum class Keep { kStart, kEnd };

// `text` when it has at most `limit` characters, else an ellipsis in place of what is too much at the other
// end, so that the result has `limit` characters.  0 is no limit.  Damaged bytes become U+FFFD.
std::string cut(std::string_view text, std::size_t limit, Keep keep = Keep::kStart);

}  // namespace fxtrace
