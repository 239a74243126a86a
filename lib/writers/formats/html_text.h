// Text for an HTML page in its two contexts.  Both take any bytes: malformed UTF-8 becomes U+FFFD, and
// unprintable characters (controls, direction marks, line separators) are written as visible escapes (\n,
// \u202e).
#pragma once

#include <string>
#include <string_view>

namespace fxtrace::internal {

// Returns the entity for & < > in HTML and XML, such as "&amp;"; empty for all other characters.
constexpr std::string_view entity_of(char32_t c) {
  return c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "";
}

// Returns text for use between tags.
std::string html_text(std::string_view text);

// Returns a JSON string with quotes for a data block; it contains no '<', so it cannot end the block.
std::string html_json(std::string_view text);

}  // namespace fxtrace::internal
