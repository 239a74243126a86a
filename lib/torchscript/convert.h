// LibTorch's values, types and names in fxtrace's terms.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/argument.h"
#include "operators/operators.h"

namespace fxtrace {

// First line of a message; LibTorch's go on with C++ stacks.
std::string first_line(std::string_view text);
// LibTorch's message for a failed load on one line, without "Exception raised from" and what follows,
// and without addresses.
std::string readable_message(std::string_view message);

std::string dtype_name(at::ScalarType type);  // "float32"
// Of the integers that TorchScript has in their place; nothing for those that are none.
std::optional<std::string> find_dtype_name(std::int64_t number);          // "float32"
std::optional<std::string> find_memory_format_name(std::int64_t number);  // "contiguous_format"
std::optional<std::string> find_layout_name(std::int64_t number);         // "strided"

// "__torch__.pkg.___torch_mangle_3.Net" -> "pkg.Net".
std::string demangle(std::string_view qualified_name);
// Python's spelling of a type: "Tensor", "Optional[int]", "List[Tensor]", "pkg.Net".
std::string type_name(const c10::Type& type);

// A name as a part of a qualified name: a dot inside it gets a backslash ("packed\.0").  Python's own modules
// have no such names; passes that rewrite archives make them.
std::string path_part(const std::string& name);

// Of Optional[T] its T, of other types the type itself; null stays null.
const c10::Type* without_optional(const c10::Type* type);
// Whether a value of this type is a tensor or may hold one.
bool may_hold_tensor(const c10::Type& type);

// The operator's row in our table; null for one that only this archive or a library declares.
const Operator* find_operator(const c10::FunctionSchema& schema);
// A schema in our terms.
Schema converted_schema(const c10::FunctionSchema& schema);
// The same, from the operator's row where it has one.
Schema own_schema(const c10::FunctionSchema& schema);

// Elements of a small dense CPU tensor in row-major order; absent when its dtype is no plain number.
std::optional<std::vector<Argument>> elements(const at::Tensor& tensor);

}  // namespace fxtrace
