// Schemas: the parameters and results of an operator, a method or a function with code.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/operators.h"
#include "operators/schema.h"
#include "torchscript/language/symbol.h"
#include "torchscript/language/types.h"

namespace fxtrace::internal::torchscript {

// The schema of an operator, a method or a function with code, with TorchScript's types and constants.
struct FunctionSchema : BasicSchema<TypePtr, ScriptConstant> {
  std::string name;           // "aten::add", "forward", "__torch__.f"
  std::string overload_name;  // "Tensor"
  // For operators only: the symbol of the name, and the row.  The row is null for operators that a model
  // declares, even when schemas/operators/extensions.txt has one.
  Symbol symbol = Symbol::kNone;
  const Operator* row = nullptr;
};
using FunctionArgument = FunctionSchema::Argument;

// Returns the schema of a function with code (torchscript/ir/function.h).
const FunctionSchema& schema_of(const Function& function);

// Returns LibTorch's text of a schema: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) ->
// (Tensor)".
std::string to_text(const FunctionSchema& schema);

// Parses a type in the syntax of schemas.  `resolve` looks up classes ("__torch__..."), null when there is
// none.  Throws Error(kInput) when the text is not a type.
using ResolveClass = std::function<TypePtr(const std::string&)>;
TypePtr schema_type(const SchemaType& type, const ResolveClass& resolve);

// Parses a schema: "pkg::op.overload(Tensor x) -> Tensor"; the name may be omitted.  Throws Error(kInput).
FunctionSchema parse_function_schema(std::string_view text, const ResolveClass& resolve);
FunctionSchema function_schema(std::string_view name, const Schema& schema, const ResolveClass& resolve);

}  // namespace fxtrace::internal::torchscript
