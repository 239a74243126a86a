// What an expression may be before it is a value: a name of the language, a method of a value, a class, a
// range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "script/ir.h"
#include "script/schema_match.h"

namespace fxtrace::script {

class Function;
class Emitter;

// Calls whose arguments are not simply evaluated.
enum class SpecialForm : std::uint8_t {
  kAnnotate,
  kAwaitable,
  kCreateObject,
  kDict,
  kEnumerate,
  kFork,
  kGetattr,
  kHasattr,
  kIsinstance,
  kList,
  kRange,
  kTolist,
  kTuple,
  kUncheckedCast,
  kUninitialized,
  kZip,
};

struct Sugared {
  enum class Kind : std::uint8_t {
    kNothing,            // what print() gives
    kValue,              // value
    kBuiltin,            // symbol, on `self` if there is one
    kMagic,              // text: method of classes; for others parts[0]
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
    kCast,               // symbol, to type; for values that are no classes
    kTensorCast,         // number: a dtype; of self
    kPrint,
    kException,          // a class
    kExceptionInstance,  // value: its message
    kRange,              // values: start, end, step; number: 1 when only the end was given
    kIterables,          // parts, in step; what zip and enumerate give
    kTuple,              // parts, which may be no values
    kClosure,            // value: of the prim::Closure node
  };

  Kind kind = Kind::kNothing;
  SpecialForm form = SpecialForm::kAnnotate;
  IrValue* value = nullptr;
  Symbol symbol = Symbol::kNone;
  std::string text;
  TypePtr type;
  Function* function = nullptr;
  std::vector<IrValue*> values;
  std::vector<Sugared> parts;
  std::int64_t number = 0;
  std::optional<std::int64_t> static_length;  // of kRange and kIterables, for loops that are unrolled

  bool is(Kind wanted) const { return kind == wanted; }
  bool is_value() const { return kind == Kind::kValue; }
};

inline Sugared of_kind(Sugared::Kind kind) {
  Sugared result;
  result.kind = kind;
  return result;
}
inline Sugared sugared(IrValue* value) {
  Sugared result = of_kind(Sugared::Kind::kValue);
  result.value = value;
  return result;
}
inline Sugared sugared_builtin(Symbol symbol, IrValue* self = nullptr) {
  Sugared result = of_kind(Sugared::Kind::kBuiltin);
  result.symbol = symbol;
  result.value = self;
  return result;
}
inline Sugared sugared_magic(std::string method, Sugared base) {
  Sugared result = of_kind(Sugared::Kind::kMagic);
  result.text = std::move(method);
  result.parts.push_back(std::move(base));
  return result;
}
inline Sugared sugared_special(SpecialForm form) {
  Sugared result = of_kind(Sugared::Kind::kSpecial);
  result.form = form;
  return result;
}
inline Sugared sugared_cast(TypePtr type, Symbol symbol) {
  Sugared result = of_kind(Sugared::Kind::kCast);
  result.type = std::move(type);
  result.symbol = symbol;
  return result;
}

// How messages call it: "value", "builtin", "module".
const char* kind_text(const Sugared& value);

}  // namespace fxtrace::script
