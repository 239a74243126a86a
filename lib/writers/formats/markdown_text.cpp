#include "writers/formats/markdown_text.h"

#include <algorithm>
#include <string_view>

namespace fxtrace::internal {
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
