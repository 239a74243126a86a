// Includes Catch2 of version 2 or 3, whichever the system has.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
#include <string>

inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif
