// Numbers for people: written with units and separators, and read; and text in columns.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace fxtrace::internal {

// Formatting of text in columns for people: widths, and readable numbers.

// Returns the number of characters of valid UTF-8.
std::size_t width(std::string_view text);

// Returns the number with thousands separators: "1,814,073,344".
std::string with_separators(std::int64_t number);

// Returns the number with a noun in the singular or plural: "1 node", "1,234 nodes".
std::string counted(std::int64_t number, std::string_view what);

// Returns a number of 1000 or more with three digits and an SI prefix, smaller ones as they are: "1.81 G",
// "512".
std::string rounded(std::int64_t number);

// Returns the shortest text that reads back as the same number: "2.5", "1e+300".
std::string shortest_text(double number);

// Returns the number in lower-case hexadecimal digits, at least `least` of them: "0f".
std::string hexadecimal(std::uint64_t number, std::size_t least = 1);

// Returns a number of bytes with a binary prefix: "160 B", "44.6 MiB", "1010 KiB".
std::string bytes_text(std::int64_t bytes);

// Returns a time with its unit: "1.24 ms", "83.2 µs", "2.31 s".
std::string seconds_text(double seconds);

// Parsing of amounts as people write them: "25000000", "2G", "25MiB", "1.5e9".

// Returns the amount as a non-negative integer.  Units are K, M, G, T and P (powers of 1,000) and Ki, Mi,
// Gi, Ti and Pi (powers of 1,024), in any case, with an optional "B" behind them.  Throws Error(kUsage).
std::int64_t parse_amount(std::string_view text);

// Parsing of numbers.

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
