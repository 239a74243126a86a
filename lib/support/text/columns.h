// Formatting of text in columns for people: widths, and readable numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fxtrace::internal {

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

// Returns a number of bytes with a binary prefix: "160 B", "44.6 MiB", "1010 KiB".
std::string bytes_text(std::int64_t bytes);

// Returns a time with its unit: "1.24 ms", "83.2 µs", "2.31 s".
std::string seconds_text(double seconds);

}  // namespace fxtrace::internal
