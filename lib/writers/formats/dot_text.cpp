#include "writers/formats/dot_text.h"

#include "support/text/printable.h"
#include "support/text/utf8.h"
#include "writers/formats/html_text.h"

namespace fxtrace::internal {
namespace {

struct CharacterRange {
  char32_t first, last;
};

// Invisible characters that are not unprintable (printable.h): the rest of Unicode's
// Default_Ignorable_Code_Point.  Graphviz warns about a text that consists of them.
constexpr CharacterRange kInvisible[] = {
    {0x34F, 0x34F},   {0x115F, 0x1160}, {0x17B4, 0x17B5}, {0x180B, 0x180F},   {0x200B, 0x200F},
    {0x3164, 0x3164}, {0xFE00, 0xFE0F}, {0xFFA0, 0xFFA0}, {0xE0000, 0xE0FFF},
};

bool is_invisible(char32_t c) {
  for (const auto& range : kInvisible) {
    if (c >= range.first && c <= range.last) return true;
  }
  return is_unprintable(c);
}

// Valid in UTF-8, but forbidden in XML and thus in HTML-like labels.
bool is_forbidden(char32_t c) { return c == 0xFFFE || c == 0xFFFF; }

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// Calls write() for ASCII characters, and appends all others to `out`, escaped where necessary.
template <class F>
void for_each_character(std::string_view text, std::string& out, std::string_view backslash, F&& write) {
  while (!text.empty()) {
    const auto character = first_character(text);
    text.remove_prefix(character.length);
    const char32_t c = code_point(character.bytes);
    if (is_invisible(c)) {
      out += escaped(c, backslash);
    } else if (is_forbidden(c)) {
      out += "\xEF\xBF\xBD";
    } else if (character.bytes.size() > 1) {
      out += character.bytes;
    } else {
      write(character.bytes.front());
    }
  }
}

}  // namespace

std::string dot_html(std::string_view text) {
  std::string out;
  bool has_mark = false;  // whether there is a visible ASCII character
  for_each_character(text, out, "\\", [&](char c) {
    has_mark = has_mark || c != ' ';
    switch (c) {
      case '&':
      case '<':
      case '>':
        out += entity_of(static_cast<unsigned char>(c));
        break;
      case '"':
        out += "&quot;";
        break;
      case ' ':
        // Graphviz drops spaces next to tags or to each other.
        out += out.empty() || out.ends_with(' ') ? "&#160;" : " ";
        break;
      case ']':
        // Graphviz misreads a piece of text that starts with "]".
        out += !out.empty() && is_letter_or_digit(out.back()) ? "]" : "&#93;";
        break;
      default:
        out += c;
    }
  });
  if (out.ends_with(' ')) out.replace(out.size() - 1, 1, "&#160;");
  // A lone combining character has no width, and Graphviz warns about a text without width.
  if (!has_mark && !out.ends_with("&#160;")) out += "&#160;";
  return out;
}

std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  // A backslash starts an escape in attributes, and an ampersand an entity.
  for_each_character(text, out, "\\\\", [&](char c) {
    if (c == '"') {
      out += "\\\"";
    } else if (c == '\\') {
      out += "\\\\";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  });
  return out + '"';
}

}  // namespace fxtrace::internal
