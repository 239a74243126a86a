#include "support/text/amount.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

#include "support/error.h"

namespace fxtrace::internal {
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
