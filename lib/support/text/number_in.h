// Parsing of numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace fxtrace::internal {

// Returns the number when the whole text is one in the form of C++ ("-12", "1e-5"); nothing for other texts,
// and for a number that T cannot hold.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace fxtrace::internal
