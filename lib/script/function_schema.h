// What a function takes and gives: an operator, a method, a function with code.
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
  std::optional<std::int64_t> length;  // int[2]: one number may stand for the list
  std::optional<Constant> default_value;
  bool keyword_only = false;
  bool is_written = false;  // as the schema's alias set says
};

struct FunctionSchema {
  std::string name;           // "aten::add", "forward", "__torch__.f"
  std::string overload_name;  // "Tensor"
  std::vector<FunctionArgument> arguments;
  std::vector<FunctionArgument> returns;
  bool is_vararg = false;  // more arguments than these may follow
  bool is_varret = false;  // nothing is said of the results

  std::optional<std::size_t> find_argument(std::string_view argument_name) const;
  bool is_mutable() const;  // writes an argument
};

// The schema of a function with code (script/function.h).
const FunctionSchema& schema_of(const Function& function);

// As LibTorch prints a schema: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> (Tensor)".
std::string to_text(const FunctionSchema& schema);

// A type as schemas have it.  `resolve` knows classes ("__torch__..."); null when there is none of the name.
// Throws Error(kInput) for what is no type.
using ResolveClass = std::function<TypePtr(const std::string&)>;
TypePtr schema_type(const fxtrace::SchemaType& type, const ResolveClass& resolve);

// "pkg::op.overload(Tensor x) -> Tensor"; the name may be left out.  Throws Error(kInput).
FunctionSchema parse_function_schema(std::string_view text, const ResolveClass& resolve);
FunctionSchema function_schema(std::string_view name, const fxtrace::Schema& schema,
                               const ResolveClass& resolve);

}  // namespace fxtrace::script
