// Lists of words in one text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace fxtrace::internal {

// Calls visit(word) for the words of a text that separates them by single spaces: "conv1d conv2d".
template <class Visit>
constexpr void for_each_word(std::string_view words, const Visit& visit) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    visit(word);
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
}

inline std::unordered_set<std::string_view> words_of(std::string_view words) {
  std::unordered_set<std::string_view> set;
  for_each_word(words, [&](std::string_view word) { set.insert(word); });
  return set;
}

// Returns the number of words before `word`; nothing when it is not in the text.
inline std::optional<std::size_t> find_word(std::string_view words, std::string_view word) {
  std::optional<std::size_t> found;
  std::size_t place = 0;
  for_each_word(words, [&](std::string_view one) {
    if (!found && one == word) found = place;
    ++place;
  });
  return found;
}

inline bool has_word(std::string_view words, std::string_view word) {
  return find_word(words, word).has_value();
}

// Returns "a, b" of text_of(item) for each item; none of these texts may be empty.
template <class Items, class Text = std::identity>
std::string joined(const Items& items, const Text& text_of = {}, std::string_view between = ", ") {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += between;
    text += std::invoke(text_of, item);
  }
  return text;
}

// Returns "a, b and c" when `last` is " and ".
inline std::string listed(const std::vector<std::string>& words, std::string_view last,
                          std::string_view between = ", ") {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += &word == &words.back() ? last : between;
    text += word;
  }
  return text;
}

}  // namespace fxtrace::internal
