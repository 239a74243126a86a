// Sizes in a notation for people, and as texts of names and numbers.
#pragma once

#include <cstdint>
#include <string>

#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// Sizes in a notation for people: "batch·seq² + 12.3 K".

// Returns "batch·seq²·176 K + 12.3 K": each number is written by `number_text`, and omitted when that gives
// "1".
std::string readable_size(const SymInt& size, std::string (*number_text)(std::int64_t));

}  // namespace fxtrace::internal
