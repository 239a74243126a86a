// Converts guards to Python source.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/graph_collection.h"
#include "symbolic/expression.h"

namespace fxtrace::internal {

// Returns the guard as a Python expression, with its names (inputs and dimensions) replaced by those of the
// source.  Returns nothing when it contains anything but inputs, dimensions, arithmetic, comparisons,
// attributes of tensors and questions about the process, as guards of a collection are untrusted.
std::optional<std::string> python_guard(const Expression& guard,
                                        const std::map<std::string, std::string>& names);

// Returns whether forward itself checks the guard: one about the process, or about the type of an input that
// is fixed, which its value does not tell.
bool is_checked_in_forward(const Expression& guard);

// Returns the guard without a lower bound of 2, which torch.export gives to each open dimension and its own
// module lets pass.
Expression as_torch_checks(const Guard& guard);

}  // namespace fxtrace::internal
