// Parses schemas of operators in PyTorch's syntax (aten/src/ATen/native/README.md):
//   (Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

// An alias annotation, "(a)" or "(a! -> *)": the alias sets of a value before and after the call.
struct AliasSet {
  std::vector<std::string> before, after;  // "*": any; `after` equals `before` unless given
  bool writes = false;
};

struct SchemaType {
  // "Tensor", "int", "SymInt", "Scalar", the qualified name of a class, a type variable such as "t"; or a
  // constructor applied to `parts`: "List", "Optional", "Tuple", "Dict", "Future", "Await", "RRef".
  std::string name;
  std::vector<SchemaType> parts;
  std::optional<AliasSet> alias;
  std::optional<std::int64_t> length;  // 2 for int[2], a list that one number may stand for

  bool is_list() const { return name == "List"; }
  bool is_optional() const { return name == "Optional"; }
  bool is_variable() const;             // a type variable: "t", "tVal"
  const SchemaType& required() const;   // "int" for "int?"; other types as they are
  const SchemaType& innermost() const;  // "Tensor" for "Tensor?[]"
};

struct SchemaArgument {
  std::string name;
  SchemaType type;
  std::optional<std::string> default_value;  // as written: "1", "None", "[1, 1]", "\"mean\""
  bool keyword_only = false;

  // Returns whether the argument's memory, or that of its elements, is written.
  bool is_written() const;
};

struct Schema {
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaType> results;
  bool is_variadic = false;           // accepts further arguments
  bool has_variadic_results = false;  // results are unspecified

  bool writes() const;  // whether any argument is written
};

// Throws Error(kInput), which says what is wrong and where.
Schema parse_schema(std::string_view signature);

}  // namespace fxtrace
