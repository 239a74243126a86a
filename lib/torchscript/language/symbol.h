// Interned names of operators, node kinds and attributes.  There is one table for the process, from which
// names are never removed, so it grows with the distinct names in the files read.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::internal::torchscript {

// Names that the code of fxtrace uses have constants here.
enum class Symbol : std::uint32_t {
#define FXTRACE_SYMBOL(name, text) name,
#include "torchscript/language/symbols.inc"
#undef FXTRACE_SYMBOL
};

Symbol intern(std::string_view name);
std::string_view to_text(Symbol symbol);  // lives as long as the process

}  // namespace fxtrace::internal::torchscript
