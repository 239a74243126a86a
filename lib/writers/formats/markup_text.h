// Text of a model in markup: HTML, DOT, Mermaid and Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::internal {

// Text for an HTML page in its two contexts.  Both take any bytes: malformed UTF-8 becomes U+FFFD, and
// unprintable characters (controls, direction marks, line separators) are written as visible escapes (\n,
// \u202e).

// Returns the entity for & < > in HTML and XML, such as "&amp;"; empty for all other characters.
constexpr std::string_view entity_of(char32_t c) {
  return c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "";
}

// Returns text for use between tags.
std::string html_text(std::string_view text);

// Returns a JSON string with quotes for a data block; it contains no '<', so it cannot end the block.
std::string html_json(std::string_view text);

// Text for Graphviz in its two syntaxes.  Both take any bytes: malformed UTF-8 becomes U+FFFD, and
// unprintable characters (controls, direction marks, ...) are written as escapes (\n, \x01, \u200b).

// Returns text for HTML-like labels.  It is never empty or blank, as Graphviz rejects a font element without
// text.
std::string dot_html(std::string_view text);

// Returns a string in quotes, for attributes.
std::string dot_quoted(std::string_view text);

// Escapes text of a model for Mermaid diagrams.
//
// Mermaid reads a label several times: as its own language, with entities ("#35;"), as HTML, and then for
// icons (fa:fa-x), formulas ($$x$$) and line breaks (\n).  Characters with a meaning to any of these stages
// are escaped so that they are shown literally.  Any bytes are accepted: malformed UTF-8 becomes U+FFFD, and
// unprintable characters (unicode.h) become escapes as in a string literal.

// Returns HTML for a label in double quotes, in which `text` cannot start a tag, a comment, a directive or a
// Markdown fence.
std::string mermaid_html(std::string_view text);

// Returns a quoted YAML string for the title in the front matter.  Mermaid itself sanitises the title: tags
// in it are not shown.
std::string mermaid_title(std::string_view text);

// Writes text of a model into GitHub's Markdown.  Arguments are one line of printable characters, and may
// contain any markup.

// Returns code, also for tables.  Special characters become entities in <code> tags, where GitHub reads no
// markup, links or mentions.
std::string markdown_code(const std::string& text);

// Returns a sentence unchanged if nothing in it could be markup or a link; otherwise as code.
std::string markdown_sentence(const std::string& text);

// Returns the line of a table's row, whose cells are Markdown.
std::string markdown_row(const std::vector<std::string>& cells);

}  // namespace fxtrace::internal
