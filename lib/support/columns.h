// Text in columns, for people: how wide it is, and numbers that are easy to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fxtrace {

// Characters of valid UTF-8, not bytes.
std::size_t width(std::string_view text);

// "1,814,073,344"
std::string with_separators(std::int64_t number);

// Three digits: "1.81 G", "512"; of 1000 and more only.
std::string rounded(std::int64_t number);

// "160 B", "44.6 MiB", "1010 KiB"
std::string bytes_text(std::int64_t bytes);

// "1.24 ms", "83.2 µs", "2.31 s"
std::string seconds_text(double seconds);

}  // namespace fxtrace
