// What names denote while code is compiled: values of the graph, and sugared values.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "torchscript/compiler/schema_match.h"
#include "torchscript/ir/ir.h"
#include "torchscript/language/source.h"

namespace fxtrace::internal::torchscript {

// Sugared values: the things that an expression may denote before it becomes a value of the graph, such as a
// builtin, a method or a class.

class Function;
class Emitter;

// Calls whose arguments are not evaluated in the normal way.
enum class SpecialForm : std::uint8_t {
  kAnnotate,
  kAwaitable,
  kCreateObject,
  kFork,
  kGetattr,
  kIsinstance,
  kTolist,
  kUncheckedCast,
  kUninitialized,
};

struct SugaredValue {
  enum class Kind : std::uint8_t {
    kNothing,            // result of print()
    kValue,              // value
    kBuiltin,            // symbol, applied to `self` if given
    kMagic,              // text: a method of classes; parts[0] for other values
    kMethod,             // text: of value
    kFunction,           // function
    kClass,              // type
    kNamedTuple,         // type
    kEnumClass,          // type
    kNamespace,          // text: "__torch__.nets"
    kOperators,          // ops
    kOperatorNamespace,  // text: "aten"
    kConstants,          // CONSTANTS
    kSpecial,            // form
    kCast,               // symbol, to type; for values that are not objects of classes
    kTensorCast,         // number: a dtype; applied to self
    kPrint,
    kClosure,  // value: output of the prim::Closure node
  };

  Kind kind = Kind::kNothing;
  SpecialForm form = SpecialForm::kAnnotate;
  IrValue* value = nullptr;
  Symbol symbol = Symbol::kNone;
  std::string text = {};
  TypePtr type = {};
  Function* function = nullptr;
  std::vector<SugaredValue> parts = {};
  std::int64_t number = 0;

  bool is(Kind wanted) const { return kind == wanted; }
  bool is_value() const { return kind == Kind::kValue; }
};

inline SugaredValue of_kind(SugaredValue::Kind kind) { return {.kind = kind}; }
inline SugaredValue sugared(IrValue* value) { return {.kind = SugaredValue::Kind::kValue, .value = value}; }
inline SugaredValue sugared(Function* function) {
  return {.kind = SugaredValue::Kind::kFunction, .function = function};
}
inline SugaredValue sugared_builtin(Symbol symbol, IrValue* self = nullptr) {
  return {.kind = SugaredValue::Kind::kBuiltin, .value = self, .symbol = symbol};
}
inline SugaredValue sugared_magic(std::string method, SugaredValue base) {
  return {.kind = SugaredValue::Kind::kMagic, .text = std::move(method), .parts = {std::move(base)}};
}
inline SugaredValue sugared_special(SpecialForm form) {
  return {.kind = SugaredValue::Kind::kSpecial, .form = form};
}
inline SugaredValue sugared_cast(TypePtr type, Symbol symbol) {
  return {.kind = SugaredValue::Kind::kCast, .symbol = symbol, .type = std::move(type)};
}
inline SugaredValue sugared_text(SugaredValue::Kind kind, std::string_view text) {
  return {.kind = kind, .text = std::string(text)};
}

// Returns the kind's name for messages: "value", "builtin", "module".
const char* kind_text(const SugaredValue& value);

// The scopes of the code that is compiled.  Variables are prim::Store and prim::Load nodes by name in the
// graph until ssa.cpp eliminates these; the environment has their types, and names bound to sugared values.

// A scope: the names that a branch or loop body defines.
struct Scope {
  struct Variable {
    TypePtr type;                         // declared type of a value
    std::optional<SugaredValue> sugared;  // for anything but a value
  };
  IrBlock* block = nullptr;
  Scope* parent = nullptr;
  std::unordered_map<std::string_view, Variable> variables;
};

class Environment {
 public:
  Environment(IrGraph& graph, SchemaMatcher& matcher) : graph_(graph), matcher_(matcher) {}

  void push(IrBlock* block);
  Scope* pop();  // leaves a scope and returns it, unchanged
  IrBlock* block() const { return current_->block; }
  Scope* current() const { return current_; }

  // Looks up a name.  A value is loaded at the graph's insert point.  All names must live as long as this.
  std::optional<SugaredValue> find_variable(std::string_view name) { return find_in(current_, name); }
  std::optional<SugaredValue> find_in(Scope* scope, std::string_view name);
  bool is_defined_in(const Scope* scope, std::string_view name) const;

  // Sets a variable.  Throws Error(kInput) when a variable of an outer scope would get another type.
  void set(const SourceRange& range, std::string_view name, SugaredValue value,
           const TypePtr& declared = nullptr);
  void set(const SourceRange& range, std::string_view name, IrValue* value) {
    set(range, name, sugared(value));
  }
  void set_type(std::string_view name, TypePtr type);
  bool remove(std::string_view name);
  std::vector<std::string_view> defined_in(const Scope& scope) const;  // values, sorted by name

  // Notes why a variable is undefined, for the error at its use.
  void set_reason(std::string_view name, std::string reason) { reasons_[name] = std::move(reason); }
  const std::string* find_reason(std::string_view name) const;
  std::string_view keep_name(std::string name);  // stores a generated name

 private:
  void store(const SourceRange& range, std::string_view name, IrValue* value, TypePtr type);

  IrGraph& graph_;
  SchemaMatcher& matcher_;
  std::deque<Scope> scopes_;
  Scope* current_ = nullptr;
  std::unordered_map<std::string_view, std::string> reasons_;
  std::deque<std::string> names_;
};

// Returns whether values take the variable's name: not for "_3" and names generated by the compiler.
bool is_meaningful_name(std::string_view name);

}  // namespace fxtrace::internal::torchscript
