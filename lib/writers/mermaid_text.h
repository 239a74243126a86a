// The one way to write text of a model into a Mermaid diagram.
//
// Mermaid reads a label several times: as its own language, with entities ("#35;"), as HTML, and then for
// icons (fa:fa-x), formulas ($$x$$) and line breaks (\n).  What has a meaning to any of them is written so
// that it stands there as it is.  Any bytes are taken: what is no UTF-8 becomes U+FFFD, and what is
// unprintable (printable.h) an escape as in a string literal.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace {

// For the inside of a label in double quotes, in HTML.  Nothing of `text` starts a tag, a comment, a
// directive or a fence of Markdown.
std::string mermaid_html(std::string_view text);

// A quoted string with its quotes, for the title in the front matter: YAML.  Mermaid itself makes the title
// safe HTML: tags in it are not shown.
std::string mermaid_title(std::string_view text);

}  // namespace fxtrace
