// Sugared values: what an expression may denote before it becomes a value, such as a name of the language, a
// method, a class or a range.
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

// Calls whose arguments are not evaluated in the normal way.
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
    kException,          // a class
    kExceptionInstance,  // value: its message
    kRange,              // values: start, end, step; number: 1 when only the end was given
    kIterables,          // parts, iterated in parallel; result of zip and enumerate
    kTuple,              // parts, not necessarily values
    kClosure,            // value: output of the prim::Closure node
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
  std::optional<std::int64_t> static_length;  // for kRange and kIterables in unrolled loops

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

// Returns the kind's name for messages: "value", "builtin", "module".
const char* kind_text(const Sugared& value);

}  // namespace fxtrace::script
