// What calls tell of operators that nobody declared, and of methods of classes of torch.classes.
//
// While a program has UndeclaredCalls, the compiler does not refuse such a call.  Its result is of an
// OpenType, which notes what the code around expects: a type that is declared, that a parameter has, or that
// all overloads that fit agree on.  Nothing is guessed.  The function's graph is not kept; it is compiled
// again once the operators are declared.
#pragma once

#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "torchscript/language/source.h"
#include "torchscript/language/types.h"

namespace fxtrace::internal::torchscript {

struct CallArguments;
class Function;
class IrValue;

struct UndeclaredOperator {
  std::vector<std::pair<const Function*, SourcePlace>> callers;  // functions, and the call in each
  std::vector<TypePtr> arguments;           // types that fit all calls, by position, without "self"
  std::map<std::string, TypePtr> keywords;  // the same by name
  TypePtr result = open_type();             // of all calls
  bool agree = true;                        // whether all calls have as many arguments

  void add_call(const CallArguments& call, const Function& caller);
};
// By name: "pkg::op", or a method's qualified name.
using UndeclaredCalls = std::map<std::string, UndeclaredOperator>;

// Thrown where a function would be compiled that has such a call.
class UndeclaredCall final : public std::exception {};

// Notes that the value is used.  Does nothing unless the value's type is open.
void use(const IrValue& value);
// Notes the same, and that the code expects the type of the value, or of its items.
void expect(const IrValue& value, const TypePtr& type);

struct InferredSchema {
  std::string schema;  // with "?" for a result type that the calls do not tell
  bool is_complete = true;
};
// Returns the schema that the calls tell.  An argument is Any, which takes everything, if they do not tell
// its type, and so is a result that nobody uses.
InferredSchema infer_schema(const std::string& name, const UndeclaredOperator& calls);

}  // namespace fxtrace::internal::torchscript
