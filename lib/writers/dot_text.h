// Graphviz's two ways to write text.  Both take any bytes: what is no UTF-8 becomes U+FFFD, and characters
// without a mark of their own (controls, direction marks, ...) are written as in a string literal (\n, \x01,
// \u200b).
#pragma once

#include <string>
#include <string_view>

namespace fxtrace {

// For HTML-like labels.  Never empty and never blank: Graphviz refuses a font without text.
std::string dot_html(std::string_view text);

// A quoted string with its quotes, for attributes.
std::string dot_quoted(std::string_view text);

}  // namespace fxtrace
