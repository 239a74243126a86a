#include "support/text/numbers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

#include "support/error.h"

namespace fxtrace::internal {
namespace {

// Returns `number` in the largest of the units in which it is at least 1, with three digits or as an
// integer.
std::string in_units(std::int64_t number, std::int64_t step, const char* const* units, std::size_t count) {
  std::size_t unit = 0;
  auto value = static_cast<double>(number);
  // From half a unit below a step on, rounding gives the next unit.
  while (unit + 1 < count && value >= static_cast<double>(step) - 0.5) {
    value /= static_cast<double>(step);
    ++unit;
  }
  if (unit == 0) return std::to_string(number) + units[0];
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data() + std::string(units[unit]);
}

}  // namespace

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string with_separators(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string counted(std::int64_t number, std::string_view what) {
  return with_separators(number).append(" ").append(what).append(number == 1 ? "" : "s");
}

std::string rounded(std::int64_t number) {
  constexpr std::array kUnits = {"", " K", " M", " G", " T", " P", " E"};
  return in_units(number, 1000, kUnits.data(), kUnits.size());
}

std::string hexadecimal(std::uint64_t number, std::size_t least) {
  std::array<char, 16> digits{};
  const std::string text(digits.data(),
                         std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr);
  return std::string(least - std::min(least, text.size()), '0') + text;
}

std::string shortest_text(double number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array kUnits = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  return in_units(bytes, 1024, kUnits.data(), kUnits.size());
}

std::string seconds_text(double seconds) {
  constexpr std::array kUnits = {" ns", " µs", " ms", " s"};
  constexpr double kNanoseconds = 1e9;
  return in_units(std::llround(seconds * kNanoseconds), 1000, kUnits.data(), kUnits.size());
}

namespace {

// Returns the factor of a unit; 0 for a text that is not a unit.
std::int64_t unit_of(std::string_view text) {
  std::string unit;
  for (const char c : text) unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.ends_with('b')) unit.pop_back();
  if (unit.empty()) return 1;
  constexpr std::string_view kPrefixes = "kmgtp";
  const std::size_t power = kPrefixes.find(unit.front());
  const bool is_binary = unit.size() == 2 && unit[1] == 'i';
  if (power == std::string_view::npos || (unit.size() != 1 && !is_binary)) return 0;
  std::int64_t factor = 1;
  for (std::size_t i = 0; i <= power; ++i) factor *= is_binary ? 1'024 : 1'000;
  return factor;
}

}  // namespace

std::int64_t parse_amount(std::string_view text) {
  const auto wrong = [&] {
    return usage_error("expected a number such as 25000000, 2G or 25MiB, got '" + std::string(text) + "'");
  };
  std::size_t end = text.find_first_not_of("0123456789");
  std::int64_t whole = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (parsed.ec == std::errc() && whole >= 0 && text.front() != '-') {
    const std::int64_t unit = unit_of(text.substr(std::min(end, text.size())));
    std::int64_t product = 0;
    if (unit != 0) {
      if (__builtin_mul_overflow(whole, unit, &product)) throw wrong();
      return product;
    }
  }
  // A decimal or an exponent is exact as far as a double is.
  double number = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  end = static_cast<std::size_t>(stop - text.data());
  const std::int64_t unit = failure == std::errc() ? unit_of(text.substr(end)) : 0;
  const double product = number * static_cast<double>(unit);
  constexpr double kMost = 9.2e18;
  if (unit == 0 || !(product >= 0) || product > kMost || product != std::floor(product)) throw wrong();
  return static_cast<std::int64_t>(product);
}

}  // namespace fxtrace::internal
