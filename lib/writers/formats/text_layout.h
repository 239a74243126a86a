// The layout of documents: the width of the terminal, and colours.
#pragma once

#include <cstddef>
#include <string>

namespace fxtrace::internal {

// Escape sequences of terminals.
inline constexpr const char* kBold = "\033[1m";
inline constexpr const char* kFaint = "\033[2m";
inline constexpr const char* kRed = "\033[31m";
inline constexpr const char* kGreen = "\033[32m";
inline constexpr const char* kYellow = "\033[33m";
inline constexpr const char* kCyan = "\033[36m";
inline constexpr const char* kReset = "\033[0m";

struct TextLayout {
  static constexpr std::size_t kAny = std::size_t{1} << 30;  // for files and pipes: no text is cut
  std::size_t width = kAny;  // columns of the terminal; lines of notes and totals may be longer
  bool colour = false;       // also enables bars of each row's share
  bool is_markdown = false;  // GitHub's Markdown instead, which has neither width nor colours

  // Returns the width to which sentences are wrapped.
  std::size_t line() const { return width == kAny ? 100 : width; }

  // Returns the text in one of the styles above if colours are enabled.
  std::string paint(const std::string& text, const char* style) const {
    return colour && !text.empty() && *style != '\0' ? style + text + kReset : text;
  }
};

}  // namespace fxtrace::internal
