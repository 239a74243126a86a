// Includes Catch2 of version 2 or 3, whichever the system has.
//
// The guard is a macro as this header is precompiled: g++ knows a file of "#pragma once" again by its bytes,
// and ccache may give the precompiled header of a checkout in which the comments were others.
#ifndef FXTRACE_TESTS_UNIT_CATCH_H
#define FXTRACE_TESTS_UNIT_CATCH_H

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
#include <string>

inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif

#endif
