// Values, types and names of TorchScript in fxtrace's terms.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/argument.h"
#include "operators/operators.h"
#include "torchscript/names.h"

namespace fxtrace::torchscript {

// A message on one line, and not a long one.
std::string readable_message(std::string_view message);

// Of the integers that TorchScript has in their place; nothing for those that are none.
std::optional<std::string> find_dtype_name(std::int64_t number);          // "float32"
std::optional<std::string> find_memory_format_name(std::int64_t number);  // "contiguous_format"
std::optional<std::string> find_layout_name(std::int64_t number);         // "strided"

// "__torch__.pkg.___torch_mangle_3.Net" -> "pkg.Net".
std::string demangle(std::string_view qualified_name);
// Python's spelling of a type: "Tensor", "Optional[int]", "List[Tensor]", "pkg.Net".
std::string type_name(const Type& type);

// Of Optional[T] its T, of other types the type itself; null stays null.
const Type* without_optional(const Type* type);
// Whether a value of this type is a tensor or may hold one.
bool may_hold_tensor(const Type& type);
// Whether one of the operator's results is a tensor or holds one, as its schema tells.
bool makes_tensor(const FunctionSchema& schema);

// The operator's row in our table; null for one that only this archive declares.
const Operator* find_operator(const FunctionSchema& schema);
// Its schema; null likewise.  Lives as long as the process.
const Schema* find_row_schema(const FunctionSchema& schema);
// A schema in our terms.
Schema converted_schema(const FunctionSchema& schema);
// The same, from the operator's row where it has one.
Schema own_schema(const FunctionSchema& schema);

// A value of the code that has no parts: a bool, a number.
Argument number_argument(const Value& value);

}  // namespace fxtrace::torchscript
