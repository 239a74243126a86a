// Schemas of operators, and a parser for PyTorch's syntax of them (aten/src/ATen/native/README.md):
//   (Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::internal {

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
  std::optional<AliasSet> alias = {};

  bool is_list() const { return name == "List"; }
  bool is_optional() const { return name == "Optional"; }
  bool is_variable() const;             // a type variable: "t", "tVal"
  const SchemaType& required() const;   // "int" for "int?"; other types as they are
  const SchemaType& innermost() const;  // "Tensor" for "Tensor?[]"
};

// The parameters and results of an operator or function.  `Type` is the form of its types, `Default` that of
// default values.
template <class Type, class Default>
struct BasicSchema {
  struct Argument {
    std::string name;
    Type type;
    std::optional<std::int64_t> length = {};  // 2 for int[2], a list that one number may stand for
    std::optional<Default> default_value = {};
    bool keyword_only = false;
    bool is_written = false;  // the operator writes to its memory, or to that of its elements
  };
  std::vector<Argument> arguments;
  std::vector<Type> results;
  bool is_variadic = false;           // accepts further arguments
  bool has_variadic_results = false;  // the results are unspecified

  bool writes() const { return std::ranges::any_of(arguments, &Argument::is_written); }
  bool is_written(std::size_t index) const { return index < arguments.size() && arguments[index].is_written; }
  std::optional<std::size_t> find_argument(std::string_view name) const {
    const auto found = std::ranges::find(arguments, name, &Argument::name);
    return found == arguments.end() ? std::nullopt : std::optional<std::size_t>(found - arguments.begin());
  }
  const Argument* find_formal(std::string_view name) const {
    const auto place = find_argument(name);
    return place ? &arguments[*place] : nullptr;
  }
};

// A schema as PyTorch registers it; default values are texts: "1", "None", "[1, 1]", "\"mean\"".
using Schema = BasicSchema<SchemaType, std::string>;
using SchemaArgument = Schema::Argument;

// Parses the schema that begins at `at`, behind a name.  Throws Error(kInput), which has the whole text and
// says what was expected and where.
Schema parse_schema(std::string_view text, std::size_t at = 0);

}  // namespace fxtrace::internal
