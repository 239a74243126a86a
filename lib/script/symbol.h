// Names of operators, node kinds and attributes as small numbers.  One table for the process: a name stays
// once it was seen, so it grows with the names in the files that are read and no further.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::script {

// The names that the program itself knows have names here, too.
enum class Symbol : std::uint32_t {
#define FXTRACE_SYMBOL(name, text) name,
#include "script/symbols.inc"
#undef FXTRACE_SYMBOL
};

Symbol intern(std::string_view name);
std::string_view to_text(Symbol symbol);  // lives as long as the process

}  // namespace fxtrace::script
