#include "writers/formats/markup_text.h"

#include <algorithm>
#include <string_view>

#include "support/text/numbers.h"
#include "support/text/unicode.h"

namespace fxtrace::internal {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    const std::string_view entity = entity_of(static_cast<unsigned char>(c));
    entity.empty() ? out += c : out += entity;
  }
  return out;
}

std::string html_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    switch (c) {
      case '"':
      case '\\':
        out += '\\';
        out += c;
        break;
      case '<':
        out += "\\u003c";
        break;
      default:
        out += c;
    }
  }
  return out + '"';
}

namespace {

struct CharacterRange {
  char32_t first, last;
};

// Invisible characters that are not unprintable (unicode.h): the rest of Unicode's
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

namespace {

// Mermaid marks entities internally by U+FB02 U+00B0 and U+00B6 U+00DF.
bool is_entity_mark(char32_t c) { return c == 0xFB02 || c == 0xB6; }

bool is_word_character(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

std::string entity(char32_t c) { return "#" + std::to_string(static_cast<std::uint32_t>(c)) + ";"; }

bool is_plain_word(char32_t c) {
  if (c >= 0x80) return !is_entity_mark(c) && c != 0xFFFE && c != 0xFFFF;
  return is_word_character(c) || c == ' ' || c == '.' || c == ',' || c == '_' || c == '-' || c == '(' ||
         c == ')';
}

// Mermaid looks for \n, $$, fa:fa- and its marks of entities after it has decoded entities; an empty element
// behind the character then keeps it from matching.
bool is_read_later(char32_t c) { return c == '\\' || c == '$' || c == ':' || is_entity_mark(c); }

}  // namespace

std::string mermaid_html(std::string_view text) {
  constexpr std::string_view kNothing = "<b></b>";
  const std::string backslash = entity('\\') + std::string(kNothing);
  std::string out;
  for_each_printable(text, out, backslash, [&](std::string_view bytes, char32_t c) {
    if (c == ' ' && (out.empty() || out.back() == ' ')) {
      out += "#160;";  // HTML collapses spaces
    } else if (is_plain_word(c)) {
      out += bytes;
    } else {
      out += entity(c);
      if (is_read_later(c)) out += kNothing;
    }
  });
  return out;
}

std::string mermaid_title(std::string_view text) {
  std::string out = "\"";
  for_each_printable(text, out, "\\\\", [&](std::string_view bytes, char32_t c) {
    if (is_plain_word(c) || c == '/' || c == ':' || c == '[' || c == ']') {
      out += bytes;
    } else if (c < 0x80) {
      out += "\\x" + hexadecimal(c, 2);
    } else {
      out += "\xEF\xBF\xBD";
    }
  });
  return out + '"';
}

namespace {

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' ' || c == ',' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string markdown_code(const std::string& text) {
  if (text.empty()) return "";
  constexpr std::string_view kHarmless = "_.:-+*/%()[]=?";  // harmless in a code span
  const bool is_harmless = std::ranges::all_of(
      text, [&](char c) { return is_plain(c) || kHarmless.find(c) != std::string_view::npos; });
  if (is_harmless && text.front() != ' ' && text.back() != ' ') return "`" + text + "`";
  std::string result = "<code>";
  for (const char c : text) {
    result += is_plain(c) ? std::string(1, c)
                          : "&#" + std::to_string(static_cast<int>(static_cast<unsigned char>(c))) + ";";
  }
  return result + "</code>";
}

std::string markdown_sentence(const std::string& text) {
  constexpr std::string_view kHarmless = ".:-+()/?=";
  const bool is_harmless =
      std::ranges::all_of(
          text, [&](char c) { return is_plain(c) || kHarmless.find(c) != std::string_view::npos; }) &&
      text.find("www.") == std::string::npos && text.find("://") == std::string::npos;
  return is_harmless ? text : markdown_code(text);
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + (cell.empty() ? "|" : " |");
  return row + "\n";
}

}  // namespace fxtrace::internal
