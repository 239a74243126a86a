// Quoting of texts for a shell.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace::internal {

// Returns the text as one word of a POSIX shell, in quotes.
inline std::string shell_quoted(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// Returns the same, without quotes where none are needed.
inline std::string shell_word(std::string_view text) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=.,:/+@%";
  if (!text.empty() && text.find_first_not_of(kSafe) == std::string_view::npos) return std::string(text);
  return shell_quoted(text);
}

// Returns the path of a file as such a word, which no command takes for an option.
inline std::string shell_path(const std::string& path) {
  return shell_word(path.starts_with('-') && path != "-" ? "./" + path : path);
}

}  // namespace fxtrace::internal
