// Checks made before a plain operator is executed: calls are refused when LibTorch's behaviour is undefined
// or does not terminate, and when the result would be too large.
#pragma once

#include <optional>
#include <string_view>

#include "torchscript/operators/plain_operators.h"

namespace fxtrace::internal::torchscript {

// Returns why the operator must not be executed with these arguments, which match one of its overloads;
// nothing when it may be.  `base_name` is as "aten::floordiv"; `traits` are those of the table.
std::optional<Refusal> find_refusal(std::string_view base_name, Traits traits, Arguments arguments);

// Returns whether a string, list or dict exceeds kMaxPlainSize.
bool is_too_large(const Value& value);
Refusal too_large();

// Returns the number of character comparisons of a substring search.
std::size_t search_steps(Arguments arguments);
inline constexpr std::size_t kMaxSearch = std::size_t{1} << 30;

}  // namespace fxtrace::internal::torchscript
