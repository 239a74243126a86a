// Converts values, types and names of TorchScript to those of fxtrace.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/argument.h"
#include "interpreter/program/names.h"
#include "interpreter/program/torchscript_archive.h"
#include "operators/operators.h"
#include "symbolic/expression.h"

namespace fxtrace::internal::interpreter {

// Returns the message on one line, shortened.
std::string readable_message(std::string_view message);

// Return the name for the integer by which TorchScript represents a dtype, memory format or layout; nothing
// for others.
std::optional<std::string> find_dtype_name(std::int64_t number);          // "float32"
std::optional<std::string> find_memory_format_name(std::int64_t number);  // "contiguous_format"
std::optional<std::string> find_layout_name(std::int64_t number);         // "strided"

// "__torch__.pkg.___torch_mangle_3.Net" -> "pkg.Net".
std::string demangle(std::string_view qualified_name);
// Returns Python's spelling of a type: "Tensor", "Optional[int]", "List[Tensor]", "pkg.Net".
std::string type_name(const Type& type);
// Returns the type and fields of a NamedTuple; null for any other type, and for none.
std::shared_ptr<const argument::TupleNames> tuple_names(const Type* type);

// Returns T for Optional[T], other types as they are; null stays null.
const Type* without_optional(const Type* type);
// Returns whether a value of this type is a tensor or may hold one.
bool may_hold_tensor(const Type& type);
// Returns whether, by the schema, a result of the operator is a tensor or holds one.
bool makes_tensor(const FunctionSchema& schema);

// Returns the operator's row in fxtrace's table; null for an operator that only this archive declares.
const Operator* find_operator(const FunctionSchema& schema);
// Returns the schema of that row, which lives as long as the process; null likewise.
const Schema* find_row_schema(const FunctionSchema& schema);
// Converts a schema to fxtrace's type.
Schema converted_schema(const FunctionSchema& schema);
// Returns the schema of the operator's row when it has one, else the converted schema.
Schema own_schema(const FunctionSchema& schema);

// Converts a value that the predicates of leaf rules can look at: None, a scalar, a text, or a list or tuple
// of such; nothing for others.
std::optional<Argument> plain_attribute(const Value& value);

// Converts a scalar of the code: a bool or a number.
Argument number_argument(const Value& value);

// Spells values of the code in Python, for messages and guards.

// Returns a plain value as written in Python; a tensor too, when `archive` knows its elements.
std::string python_text(const Value& value, const TorchScriptArchive* archive = nullptr);
// Returns the same as an expression, as guards have it when they are read back.
Expression literal(const Value& value, const TorchScriptArchive* archive = nullptr);
// Returns the condition that `place` has that length.
Expression has_length(const Expression& place, std::size_t length);
// Returns the condition that `place` equals this value.
Expression equality(const Expression& place, const Value& value, const TorchScriptArchive* archive = nullptr);

}  // namespace fxtrace::internal::interpreter
