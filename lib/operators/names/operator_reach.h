// Operators that reach beyond the tensors and values that they are given.
#pragma once

#include <string_view>

namespace fxtrace {

// Returns what an operator of torch ("aten::save", "profiler::_record_function_exit._RecordFunction") touches
// besides its arguments and what they alone decide: "files", "raw memory", "other processes", ... Of torch's
// namespaces (but prim) all that is_callable_operator() does not list has a reach.  Empty for a library's.
std::string_view operator_reach(std::string_view name);

// Does the same for a higher-order operator by its name alone ("cond").  Those that are not known are
// "code that is not in the file".
std::string_view higher_order_reach(std::string_view name);

}  // namespace fxtrace
