// Parsing of amounts as people write them: "25000000", "2G", "25MiB", "1.5e9".
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::internal {

// Returns the amount as a non-negative integer.  Units are K, M, G, T and P (powers of 1,000) and Ki, Mi,
// Gi, Ti and Pi (powers of 1,024), in any case, with an optional "B" behind them.  Throws Error(kUsage).
std::int64_t parse_amount(std::string_view text);

}  // namespace fxtrace::internal
