// A check of formats for str.format().
#pragma once

#include <algorithm>
#include <string_view>

#include "support/text/identifier.h"

namespace fxtrace::internal {

// Returns whether a format prints its arguments as they are: its fields name arguments and neither attributes
// nor items of them, which Python would look up, and widths have at most four digits.
inline bool is_plain_format(std::string_view format) {
  constexpr std::size_t kMaxSpec = 20, kMaxDigits = 4;
  while (!format.empty()) {
    const char first = format[0];
    format.remove_prefix(1);
    if (first != '{' && first != '}') continue;
    if (format.starts_with(first)) {  // {{ and }} stand for a brace
      format.remove_prefix(1);
      continue;
    }
    const std::size_t end = format.find('}');
    if (first == '}' || end == std::string_view::npos) return false;
    const std::string_view field = format.substr(0, end);
    const std::string_view spec = field.substr(std::min(field.find(':'), field.size()));
    std::string_view name = field.substr(0, field.size() - spec.size());
    if (name.ends_with("!r") || name.ends_with("!s") || name.ends_with("!a")) name.remove_suffix(2);
    std::size_t digits = 0;
    for (const char c : spec) {
      digits = is_digit(c) ? digits + 1 : 0;
      if (digits > kMaxDigits || c == '{') return false;
    }
    if (!std::ranges::all_of(name, is_word) || spec.size() > kMaxSpec) return false;
    format.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace fxtrace::internal
