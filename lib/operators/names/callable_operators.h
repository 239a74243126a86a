// The allow list of operators that a graph may call without the caller's word: those that only compute.
#pragma once

#include <span>
#include <string_view>

#include "operators/names/name_table.h"

namespace fxtrace {

// Returns whether the operator, by namespace and name alone, neither touches files or the process nor reads
// and writes memory where its arguments say.  Of higher-order operators those that run what the graph has.
// scripts/torch_functions generates the table.
bool is_callable_operator(std::string_view space, std::string_view name);
std::span<const NamesOfSpace> callable_operators();

// Returns whether torch itself registers operators in the namespace.  What is in others is a library's.
bool is_torch_operator_space(std::string_view space);

// Returns whether graphs may make objects of the classes that are registered in the namespace:
// torch.classes.SPACE.
bool is_callable_class_space(std::string_view space);

// Returns whether the operator or function makes a sparse tensor of indices that torch holds against its
// sizes only when torch.sparse.check_sparse_tensor_invariants is on.
bool makes_sparse_tensor(std::string_view name);

}  // namespace fxtrace
