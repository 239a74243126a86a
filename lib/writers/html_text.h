// The two ways to write text into an HTML page.  Both take any bytes: what is no UTF-8 becomes U+FFFD, and
// characters that do more than stand there (controls, direction marks, line separators) are written as in a
// string literal (\n, \u202e), so that the reader sees them.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace {

// Text between tags.
std::string html_text(std::string_view text);

// A JSON string with its quotes, for a data block: no '<' in it, so nothing in it can end the block.
std::string html_json(std::string_view text);

}  // namespace fxtrace
