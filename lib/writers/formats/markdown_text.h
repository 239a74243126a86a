// GitHub's Markdown around texts that may hold anything.  They are one line of printable characters.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fxtrace {

// Code, in a table or elsewhere: entities are no markup, and GitHub makes neither links nor mentions of what
// is between these tags.
std::string markdown_code(const std::string& text);

// A sentence, as it is where nothing in it could be markup or a link.
std::string markdown_sentence(const std::string& text);

// Return lines: a row of a table, of cells that are Markdown, and a list of labels and of texts, which become
// code.
std::string markdown_row(const std::vector<std::string>& cells);
std::string markdown_list(const std::vector<std::pair<std::string, std::string>>& lines);

}  // namespace fxtrace
