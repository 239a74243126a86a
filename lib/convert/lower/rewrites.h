// Rewrites of calls that have another form in torch.export: Python functions, and operators that only
// TorchScript has.
#pragma once

#include <type_traits>

#include "convert/lower/rewrite_table.h"

namespace fxtrace {

// Returns the rewrites of Python functions and of operators that only TorchScript has.
const RewriteTable& plain_rewrites();

// --- calls on lists, tuples and dicts (container_calls.cpp) ---
// A program has no containers: each is an Argument whose items are known, so what reads or changes one leaves
// no operation.

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
