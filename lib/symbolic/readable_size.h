// Sizes as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "symbolic/sym_int.h"

namespace fxtrace {

// Returns "batch·seq²·176 K + 12.3 K": each number as `number_text` writes it, and none where that is "1".
std::string readable_size(const SymInt& size, std::string (*number_text)(std::int64_t));

}  // namespace fxtrace
