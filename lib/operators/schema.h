// Schemas of operators as PyTorch writes them (aten/src/ATen/native/README.md), read from their text:
//   (Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

// "(a)", "(a! -> *)": names of the memory that a value may stand in, before and after the call.
struct AliasSet {
  std::vector<std::string> before, after;  // "*": any; `after` is `before` where nothing else is written
  bool writes = false;
};

struct SchemaType {
  // "Tensor", "int", "SymInt", "Scalar", a class's qualified name, a variable such as "t"; or what is made of
  // `parts`: "List", "Optional", "Tuple", "Dict", "Future", "Await", "RRef".
  std::string name;
  std::vector<SchemaType> parts;
  std::optional<AliasSet> alias;
  std::optional<std::int64_t> length;  // int[2]: a list for which one number may stand

  bool is_list() const { return name == "List"; }
  bool is_optional() const { return name == "Optional"; }
  bool is_variable() const;             // "t", "tVal": any type
  const SchemaType& required() const;   // of "int?" the "int"; of others themselves
  const SchemaType& innermost() const;  // of "Tensor?[]" the "Tensor"
};

struct SchemaArgument {
  std::string name;
  SchemaType type;
  std::optional<std::string> default_value;  // as written: "1", "None", "[1, 1]", "\"mean\""
  bool keyword_only = false;

  // Its own memory or that of its elements is written.
  bool is_written() const;
};

struct Schema {
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaType> results;
  bool is_variadic = false;           // more arguments than these may follow
  bool has_variadic_results = false;  // nothing is said of the results

  bool writes() const;  // any argument
};

// Throws Error(kInput) that says what is wrong in the text, and where.
Schema parse_schema(std::string_view signature);

}  // namespace fxtrace
