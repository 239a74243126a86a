// Schemas: the parameters and results of an operator, a method or a function with code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/schema.h"
#include "script/types.h"

namespace fxtrace::script {

struct FunctionArgument {
  std::string name;
  TypePtr type;
  std::optional<std::int64_t> length;  // 2 for int[2], where one number may stand for the list
  std::optional<Constant> default_value;
  bool keyword_only = false;
  bool is_written = false;  // by the schema's alias annotation
};

struct FunctionSchema {
  std::string name;           // "aten::add", "forward", "__torch__.f"
  std::string overload_name;  // "Tensor"
  std::vector<FunctionArgument> arguments;
  std::vector<FunctionArgument> returns;
  bool is_vararg = false;  // accepts further arguments
  bool is_varret = false;  // results are unspecified

  std::optional<std::size_t> find_argument(std::string_view argument_name) const;
  bool is_mutable() const;  // writes to an argument
  bool is_written(std::size_t index) const { return index < arguments.size() && arguments[index].is_written; }
};

// Returns the schema of a function with code (script/function.h).
const FunctionSchema& schema_of(const Function& function);

// Returns LibTorch's text of a schema: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) ->
// (Tensor)".
std::string to_text(const FunctionSchema& schema);

// Parses a type in the syntax of schemas.  `resolve` looks up classes ("__torch__..."), null when there is
// none.  Throws Error(kInput) when the text is not a type.
using ResolveClass = std::function<TypePtr(const std::string&)>;
TypePtr schema_type(const fxtrace::SchemaType& type, const ResolveClass& resolve);

// Parses a schema: "pkg::op.overload(Tensor x) -> Tensor"; the name may be omitted.  Throws Error(kInput).
FunctionSchema parse_function_schema(std::string_view text, const ResolveClass& resolve);
FunctionSchema function_schema(std::string_view name, const fxtrace::Schema& schema,
                               const ResolveClass& resolve);

}  // namespace fxtrace::script
