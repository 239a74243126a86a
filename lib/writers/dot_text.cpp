#include "writers/dot_text.h"

#include "writers/utf8.h"

namespace fxtrace {
namespace {

// Controls in one or two bytes, and the two code points that XML forbids although they are UTF-8.
bool is_control(const Utf8Character& character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character.bytes[i]); };
  if (character.bytes.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return character.bytes.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0;
}
bool is_forbidden_in_xml(std::string_view bytes) {
  return bytes == "\xEF\xBF\xBE" || bytes == "\xEF\xBF\xBF";
}

// The control character as it would be written in a string literal; `backslash` is how the format writes one.
std::string literal(const Utf8Character& character, std::string_view backslash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(character.bytes.back());
  std::string out(backslash);
  if (byte == '\n') return out += 'n';
  if (byte == '\t') return out += 't';
  if (byte == '\r') return out += 'r';
  out += 'x';
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
  return out;
}

// Calls write(ASCII character) for plain ones and appends the others to `out`.
template <class F>
void for_each_character(std::string_view text, std::string& out, std::string_view backslash, F&& write) {
  while (!text.empty()) {
    const auto character = first_character(text);
    text.remove_prefix(character.length);
    if (is_control(character)) {
      out += literal(character, backslash);
    } else if (is_forbidden_in_xml(character.bytes)) {
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
  bool blank = true;
  for_each_character(text, out, "\\", [&](char c) {
    // Spaces next to tags or to each other would be swallowed.
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case ' ':
        out += blank || out.ends_with(' ') ? "&#160;" : " ";
        return;
      default:
        out += c;
    }
    blank = false;
  });
  if (out.ends_with(' ')) out.replace(out.size() - 1, 1, "&#160;");
  return out.empty() ? "&#160;" : out;
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

}  // namespace fxtrace
