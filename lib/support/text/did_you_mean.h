// Texts of hints: words of a shell, and names that are near.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::internal {

// Quoting of texts for a shell.

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

// Suggestions for misspelt names: "did you mean ...?"

// Returns the candidate that `text` was most likely meant to be; empty when none is similar.  A candidate
// that ends in `text` as a dotted name ("model.layers.0" for "layers.0") is nearer than any other.
std::string find_nearest(std::string_view text, const std::vector<std::string>& candidates);

// Returns the `most` nearest candidates, the nearest first.
std::vector<std::string> find_nearest(std::string_view text, const std::vector<std::string>& candidates,
                                      std::size_t most);

// Returns the end of an error message: ", did you mean 'relu'?"; empty when no candidate is similar.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace fxtrace::internal
