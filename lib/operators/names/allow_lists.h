// What a graph may call without consent: operators that only compute, and functions of Python.
#pragma once

#include <span>
#include <string_view>

#include "operators/names/name_table.h"

namespace fxtrace::internal {

// The allow list of operators that only compute: a graph may call them without the user's consent.

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

// The allow list of torch functions for generated source: functions that exist and do nothing but compute.

// Returns whether PyTorch 2.13 has this function ("torch.nn.functional.relu", "torch.Tensor.add"), and it
// neither reads or writes files, runs other code, nor changes the process.  scripts/torch_functions generates
// the table.
bool is_torch_function(std::string_view qualified_name);
std::span<const NamesOfSpace> torch_functions();

// The reach of operators: what they touch beyond the tensors and values that they are given.

// Returns what an operator of torch ("aten::save", "profiler::_record_function_exit._RecordFunction")
// touches besides its arguments and what these alone determine: "files", "raw memory", "other processes",
// ... In torch's namespaces (except prim) every operator that is_callable_operator() does not list has a
// reach.  Empty for operators of other libraries.
std::string_view operator_reach(std::string_view name);

// Does the same for a higher-order operator by its name alone ("cond").  Unknown ones have the reach "code
// that is not in the file".
std::string_view higher_order_reach(std::string_view name);

}  // namespace fxtrace::internal
