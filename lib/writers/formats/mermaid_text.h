// Escapes text of a model for Mermaid diagrams.
//
// Mermaid reads a label several times: as its own language, with entities ("#35;"), as HTML, and then for
// icons (fa:fa-x), formulas ($$x$$) and line breaks (\n).  Characters with a meaning to any of these stages
// are escaped so that they are shown literally.  Any bytes are accepted: malformed UTF-8 becomes U+FFFD, and
// unprintable characters (printable.h) become escapes as in a string literal.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace::internal {

// Returns HTML for a label in double quotes, in which `text` cannot start a tag, a comment, a directive or a
// Markdown fence.
std::string mermaid_html(std::string_view text);

// Returns a quoted YAML string for the title in the front matter.  Mermaid itself sanitises the title: tags
// in it are not shown.
std::string mermaid_title(std::string_view text);

}  // namespace fxtrace::internal
