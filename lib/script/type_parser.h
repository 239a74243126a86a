// Types and schemas as code writes them.
#pragma once

#include <functional>
#include <string>

#include "script/function_schema.h"
#include "script/tree.h"

namespace fxtrace::script {

class TypeParser {
 public:
  // `resolve` knows what stands under a qualified name ("__torch__.Net"); null when there is nothing.
  TypeParser(const SyntaxFile& file, ResolveClass resolve) : file_(file), resolve_(std::move(resolve)) {}

  // Throws Error(kInput) for what is no type.
  TypePtr parse(const Tree& expression) const;
  // Null for an expression that names no type.
  TypePtr find(const Tree& expression) const;

  // Of a function.  `self` is the type of the first parameter of methods, which need not say it.  Without a
  // result type in the code, `returns` is empty.
  FunctionSchema schema(const Tree& definition, const TypePtr& self) const;

  // A literal: the value of a class's constant or an argument's default.
  Constant constant(const Tree& expression, const TypePtr& type) const;

 private:
  TypePtr subscript(const Tree& expression) const;

  const SyntaxFile& file_;
  ResolveClass resolve_;
};

// "a.b.c" of nested attributes; empty for other expressions.
std::string dotted_name(const Tree& expression);

// An int, a double or a complex; throws Error(kInput) for one that is too large.
Constant number_of(const SyntaxFile& file, const Tree& number);

}  // namespace fxtrace::script
