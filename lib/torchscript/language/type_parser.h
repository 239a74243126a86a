// Parses types and schemas in the syntax of code.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "torchscript/language/function_schema.h"
#include "torchscript/language/parser.h"

namespace fxtrace::internal::torchscript {

class TypeParser {
 public:
  // `resolve` returns the type with a qualified name ("__torch__.Net"); null when there is none.
  TypeParser(const SyntaxFile& file, ResolveClass resolve) : file_(file), resolve_(std::move(resolve)) {}

  // Throws Error(kInput) when the expression is not a type.
  TypePtr parse(const Tree& expression) const;
  // Returns null when the expression is not a type.
  TypePtr find_type(const Tree& expression) const;

  // Returns the schema of a function.  `self` is the type of a method's first parameter, which may be
  // unannotated.  `returns` is empty when the code has no result type.
  FunctionSchema schema(const Tree& definition, const TypePtr& self) const;

  // Returns the value of a literal: a class's constant or a default.
  ScriptConstant constant(const Tree& expression, const TypePtr& type) const;

 private:
  TypePtr subscript(const Tree& expression) const;

  const SyntaxFile& file_;
  ResolveClass resolve_;
};

// Returns "a.b.c" for nested attributes; empty for other expressions.
std::string dotted_name(const Tree& expression);

// Returns 3 for the attribute CONSTANTS.c3; nothing for another one.
std::optional<std::size_t> find_table_index(const Tree& attribute);

// Returns an int, a double or a complex; throws Error(kInput) for a number that is too large.
ScriptConstant number_of(const SyntaxFile& file, const Tree& number);

}  // namespace fxtrace::internal::torchscript
