// The allow list of operators that only compute: a graph may call them without the user's consent.
#pragma once

#include <span>
#include <string_view>

#include "operators/names/name_table.h"

namespace fxtrace::internal {

// Returns whether the operator only computes, judged by namespace and name alone: it touches neither files
// nor the process, and accesses no memory at addresses that its arguments give.  Higher-order operators are
// listed when they run only subgraphs of the graph; higher_order.print is, and its format has to be one that
// is_plain_format().  Of some operators only one overload is listed.  scripts/torch_functions generates the
// table.
bool is_callable_operator(std::string_view space, std::string_view name, std::string_view overload = {});
std::span<const NamesOfSpace> callable_operators();

// Returns whether torch itself registers operators in the namespace.  Other namespaces belong to other
// libraries.
bool is_torch_operator_space(std::string_view space);

// Returns whether graphs may make objects of the classes that are registered in the namespace:
// torch.classes.SPACE.
bool is_callable_class_space(std::string_view space);

// Returns whether the operator or function makes a sparse tensor from indices that torch checks against its
// sizes only when torch.sparse.check_sparse_tensor_invariants is on.
bool makes_sparse_tensor(std::string_view name);

}  // namespace fxtrace::internal
