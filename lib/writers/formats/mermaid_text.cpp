#include "writers/formats/mermaid_text.h"

#include "support/text/printable.h"

namespace fxtrace::internal {
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
      constexpr const char* kDigits = "0123456789abcdef";
      (out += "\\x").append({kDigits[c >> 4], kDigits[c & 0xF]});
    } else {
      out += "\xEF\xBF\xBD";
    }
  });
  return out + '"';
}

}  // namespace fxtrace::internal
