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

// `text` when it has at most `limit` characters, else its first `limit` - 1 and an ellipsis.  0 is no limit.
// Damaged bytes become U+FFFD.
std::string cut(std::string_view text, std::size_t limit);

}  // namespace fxtrace
