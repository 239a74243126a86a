// Writes text of a model into GitHub's Markdown.  Arguments are one line of printable characters, and may
// contain any markup.
#pragma once

#include <string>
#include <vector>

namespace fxtrace::internal {

// Returns code, also for tables.  Special characters become entities in <code> tags, where GitHub reads no
// markup, links or mentions.
std::string markdown_code(const std::string& text);

// Returns a sentence unchanged if nothing in it could be markup or a link; otherwise as code.
std::string markdown_sentence(const std::string& text);

// Returns the line of a table's row, whose cells are Markdown.
std::string markdown_row(const std::vector<std::string>& cells);

}  // namespace fxtrace::internal
