#include "support/text/unicode.h"

#include <algorithm>
#include <vector>

#include "support/text/numbers.h"

namespace fxtrace::internal {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

struct ByteRange {
  unsigned char low = 0x80, high = 0xBF;
};

}  // namespace

Utf8Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {text.substr(0, 1), 1, true};

  // The range of the second byte excludes overlong forms, surrogates and code points beyond U+10FFFF
  // (Unicode, table 3-7).
  std::size_t length = 0;
  ByteRange second;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) second.low = 0xA0;
    if (lead == 0xED) second.high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) second.low = 0x90;
    if (lead == 0xF4) second.high = 0x8F;
  } else {
    return {kReplacement, 1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    const ByteRange range = i == 1 ? second : ByteRange{};
    if (i >= text.size() || byte(i) < range.low || byte(i) > range.high) return {kReplacement, i, false};
  }
  return {text.substr(0, length), length, true};
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    text.remove_prefix(character.length);
    valid += character.bytes;
  }
  return valid;
}

char32_t code_point(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  if (bytes.size() == 1) return lead;
  char32_t value = lead & (0xFF >> (bytes.size() + 1));
  for (const char c : bytes.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3F);
  return value;
}

std::string cut(std::string_view text, std::size_t limit, Keep keep) {
  std::string out;
  std::vector<std::size_t> starts;  // where the characters in `out` start
  while (!text.empty()) {
    const auto character = first_character(text);
    text.remove_prefix(character.length);
    starts.push_back(out.size());
    out += character.bytes;
  }
  if (limit == 0 || starts.size() <= limit) return out;
  if (keep == Keep::kStart) return out.substr(0, starts[limit - 1]).append(kEllipsis);
  const std::size_t first = starts.size() - (limit - 1);
  return std::string(kEllipsis).append(limit == 1 ? std::string_view{}
                                                  : std::string_view(out).substr(starts[first]));
}

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
  if (c < 0x100) return out + "x" + hexadecimal(c, 2);
  return out + (c < 0x10000 ? "u" + hexadecimal(c, 4) : "U" + hexadecimal(c, 8));
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
