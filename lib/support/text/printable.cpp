#include "support/text/printable.h"

#include <algorithm>

namespace fxtrace::internal {
namespace {

struct Range {
  char32_t first, last;
};

constexpr Range kUnprintable[] = {
    {0x00, 0x1F},        // controls
    {0x7F, 0x9F},        // C1 controls: U+009B begins an escape sequence in terminals
    {0xAD, 0xAD},        // soft hyphen, visible only where a line ends
    {0x61C, 0x61C},      // direction marks
    {0x180E, 0x180E},    // a vowel separator, which was a space
    {0x200B, 0x200B},    // a space of no width
    {0x200E, 0x200F},    // direction marks
    {0x2028, 0x202E},    // ends of lines, direction
    {0x2060, 0x206F},    // joins words, invisible operators, direction, digit shapes
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFF0, 0xFFFB},    // annotations
    {0x1BCA0, 0x1BCA3},  // shorthand controls
    {0x1D173, 0x1D17A},  // music controls
    {0xE0000, 0xE00FF},  // tags, which can hold a hidden text
};

}  // namespace

bool is_unprintable(char32_t c) {
  if (c >= 0x20 && c < 0x7F) return false;
  return std::ranges::any_of(kUnprintable,
                             [c](const Range& range) { return c >= range.first && c <= range.last; });
}

std::string escaped(char32_t c, std::string_view backslash) {
  std::string out(backslash);
  if (c == '\n') return out += 'n';
  if (c == '\t') return out += 't';
  if (c == '\r') return out += 'r';
  constexpr std::string_view kDigits = "0123456789abcdef";
  const int digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
  out += digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kDigits[(c >> shift) & 15];
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_printable(text, out, "\\", [&](std::string_view bytes, char32_t) { out += bytes; });
  return out;
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    if (c != '\n' && c != '\r' && c != '\t') {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return printable(line);
}

std::string short_line(std::string_view text) { return one_line(cut(text, 200)); }

}  // namespace fxtrace::internal
