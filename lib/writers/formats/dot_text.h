// Text for Graphviz in its two syntaxes.  Both take any bytes: malformed UTF-8 becomes U+FFFD, and
// unprintable characters (controls, direction marks, ...) are written as escapes (\n, \x01, \u200b).
#pragma once

#include <string>
#include <string_view>

namespace fxtrace::internal {

// Returns text for HTML-like labels.  It is never empty or blank, as Graphviz rejects a font element without
// text.
std::string dot_html(std::string_view text);

// Returns a string in quotes, for attributes.
std::string dot_quoted(std::string_view text);

}  // namespace fxtrace::internal
