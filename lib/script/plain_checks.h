// Calls of plain operators that are refused before they are carried out: what LibTorch leaves undefined or
// does not end, and what would be too large.
#pragma once

#include <optional>
#include <string_view>

#include "script/plain_operators.h"

namespace fxtrace::script {

// Why an operator must not be carried out with these arguments, which are those of one of its overloads.
// `base_name` as "aten::floordiv", with the traits of the table.
std::optional<Refusal> find_refusal(std::string_view base_name, Traits traits, Arguments arguments);

// Whether a string, list or dict is larger than what is kept.
bool is_too_large(const Value& value);
Refusal too_large();

// Characters that are compared when a text is looked for in another.
std::size_t search_steps(Arguments arguments);
inline constexpr std::size_t kMaxSearch = std::size_t{1} << 30;

}  // namespace fxtrace::script
