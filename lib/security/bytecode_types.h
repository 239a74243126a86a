// The types of values in bytecode, as far as memory depends on them (bytecode_check.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "operators/schema.h"

namespace fxtrace::internal::security {

class BytecodeTypes {
 public:
  using Id = std::uint32_t;  // equal types have equal ids
  enum class Form : std::uint8_t {
    kAbsent,   // None, or a scalar: neither an object nor a container
    kOpaque,   // any value
    kPartial,  // the object whose __setstate__ is followed
    kList,     // parts: the type of its items
    kDict,     // parts: that of its values; its keys are opaque
    kTuple,    // parts: those of its items
    kObject,   // name: its class
  };
  struct Type {
    Form form = Form::kAbsent;
    std::vector<Id> parts;
    std::string name;
    int depth = 0;
  };
  static constexpr Id kAbsent = 0, kOpaque = 1, kPartial = 2;

  BytecodeTypes();
  const Type& operator[](Id id) const { return types_[id]; }
  bool is(Id id, Form form) const { return types_[id].form == form; }
  // Types that are too deep, and what goes beyond a limit of all types, are opaque.
  Id list(Id item) { return make(Form::kList, {item}); }
  Id dict(Id value) { return make(Form::kDict, {value}); }
  Id tuple(std::vector<Id> parts) { return make(Form::kTuple, std::move(parts)); }
  Id object(std::string_view name) { return make(Form::kObject, {}, name); }

  // Returns the type of a value that has the one or the other.
  Id join(Id a, Id b);
  // Returns whether a value of type `a` may stand where type `b` is expected.
  bool fits(Id a, Id b);

  // Finds the types of a call's results from those of its arguments, by a schema with type variables.
  class CallTypes {
   public:
    // `is_strict`: the call adds items to a list or dict, so that their types have to be known.
    CallTypes(BytecodeTypes& types, bool is_strict) : types_(types), is_strict_(is_strict) {}
    // Returns whether the argument may be given.
    bool give(const SchemaArgument& formal, Id actual);
    Id result(const SchemaType& type);

   private:
    bool match(const SchemaType& formal, Id actual, bool is_item);
    bool bind(const std::string& variable, Id actual, bool is_item);

    BytecodeTypes& types_;
    bool is_strict_;
    std::map<std::string, Id> variables_;
  };

 private:
  Id make(Form form, std::vector<Id> parts = {}, std::string_view name = {});

  std::deque<Type> types_;
  std::map<std::tuple<Form, std::vector<Id>, std::string>, Id> ids_;
  std::size_t parts_ = 0;                  // of all types
  std::map<std::pair<Id, Id>, Id> joins_;  // each is found once: types share their parts
  std::map<std::pair<Id, Id>, bool> fits_of_;
};

// A type as bytecode and pickles write it: "Dict[str,Tensor]".
struct WrittenType {
  BytecodeTypes::Id id = BytecodeTypes::kOpaque;
  bool is_named_tuple = false;
  // A loader would make no type of the text or of a part of it, and use that nevertheless.
  bool is_hostile = false;
};
WrittenType read_type(BytecodeTypes& types, std::string_view text);

}  // namespace fxtrace::internal::security
