// The reach of operators: what they touch beyond the tensors and values that they are given.
#pragma once

#include <string_view>

namespace fxtrace::internal {

// Returns what an operator of torch ("aten::save", "profiler::_record_function_exit._RecordFunction")
// touches besides its arguments and what these alone determine: "files", "raw memory", "other processes",
// ... In torch's namespaces (except prim) every operator that is_callable_operator() does not list has a
// reach.  Empty for operators of other libraries.
std::string_view operator_reach(std::string_view name);

// Does the same for a higher-order operator by its name alone ("cond").  Unknown ones have the reach "code
// that is not in the file".
std::string_view higher_order_reach(std::string_view name);

}  // namespace fxtrace::internal
