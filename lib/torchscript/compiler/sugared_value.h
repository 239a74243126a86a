// Sugared values: the things that an expression may denote before it becomes a value of the graph, such as a
// builtin, a method or a class.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "torchscript/compiler/schema_match.h"
#include "torchscript/ir/ir.h"

namespace fxtrace::internal::torchscript {

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

}  // namespace fxtrace::internal::torchscript
