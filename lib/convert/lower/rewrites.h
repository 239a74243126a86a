// Rewrites of calls that have another form in torch.export: Python functions, and operators that only
// TorchScript has.
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>

#include "convert/lower/body.h"

namespace fxtrace {

// A rewrite: returns the operand that stands for the result of the call.  Returns nothing if a program cannot
// express the call; then it was refused, or lower() refuses it.
using Rewrite = std::optional<Argument> (*)(const LoweredCall& call, Body& body);

// Returns the rewrite for a target such as "builtins.getattr"; null if the call stays as it is.
Rewrite find_rewrite(std::string_view target);

// --- calls on lists, tuples and dicts (container_calls.cpp) ---
// A program has no containers: each is an Argument whose items are known, so what reads or changes one leaves
// no operation.

using Result = std::optional<Argument>;

Result item_of_container(const LoweredCall& call, Body& body);  // operator.getitem
Result extended(const LoweredCall& call, Body& body);           // operator.iadd, which gives the list itself
Result with_item_set(const LoweredCall& call, Body& body);      // operator.setitem
Result with_item_deleted(const LoweredCall& call, Body& body);  // operator.delitem
Result is_in(const LoweredCall& call, Body& body);              // operator.contains

// Returns a + b of two lists or two tuples, or a list that is repeated; nothing for other operands.
Result joined_containers(const LoweredCall& call);

// Lowers list(x) and tuple(x), which have the items of a list or tuple, or the keys of a dict.
Result listed(const LoweredCall& call, Body& body, bool is_tuple);
template <class Kind>
Result listed(const LoweredCall& call, Body& body) {
  return listed(call, body, std::is_same_v<Kind, Argument::Tuple>);
}

}  // namespace fxtrace
