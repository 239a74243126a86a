// GitHub's Markdown around texts that may hold anything.  They are one line of printable characters.
#pragma once

#include <string>

namespace fxtrace {

// Code, in a table or elsewhere: entities are no markup, and GitHub makes neither links nor mentions of what
// is between these tags.
std::string markdown_code(const std::string& text);

// A sentence, as it is where nothing in it could be markup or a link.
std::string markdown_sentence(const std::string& text);

}  // namespace fxtrace
