// The types and values in bytecode of the lite interpreter, as far as memory depends on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "archive/pickle_machine.h"
#include "operators/schema.h"
#include "security/pickle_check.h"

namespace fxtrace::internal::security {

// The types of values in bytecode, as far as memory depends on them (bytecode_check.h).

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

// The values in the pickles of an archive for the lite interpreter (bytecode_check.h).

// A class of the archive's own.
struct BytecodeClass {
  std::vector<std::string> names;        // of its attributes, as its pickled objects have them
  std::vector<BytecodeTypes::Id> slots;  // the types of its attributes, by number
  bool is_pickled = false;               // there is an object with these attributes
  bool has_set_state = false;            // __setstate__ makes its objects
};
using BytecodeClasses = std::map<std::string, BytecodeClass, std::less<>>;

// The classes of which the archive's methods include __setstate__ make their objects with it.
constexpr std::string_view kSetState = "__setstate__";

// Whether the class is one of C++, which a library registers.
bool is_library_class(std::string_view name);

class BytecodePickle : PickleMachine::PickleWatcher {
 public:
  using Id = PickleMachine::Id;

  // Reads the pickle; `bytes` must outlive this.
  explicit BytecodePickle(std::string_view bytes);
  BytecodePickle(const BytecodePickle&) = delete;
  BytecodePickle& operator=(const BytecodePickle&) = delete;

  // Finds the types of its values, and adds what its objects have to their classes.  Reports types that are
  // not those of the values, and objects that differ from others of their class.  `set_states`: the types of
  // the states that the classes' __setstate__ take, by class; with none, no such method runs.
  void find_types(BytecodeTypes& types, BytecodeClasses& classes,
                  const std::map<std::string, BytecodeTypes::Id, std::less<>>& set_states, const Tell& tell);

  BytecodeTypes::Id type(Id id) const { return types_of_[id]; }
  bool has_objects() const;          // of classes of the archive's own, or of C++
  bool has_library_objects() const;  // of classes of C++
  std::optional<Id> result() const { return result_; }
  // Returns the items of a tuple, none for another value.
  std::span<const Id> items(Id id) const;
  bool is_tuple(Id id) const { return machine_.value(id).kind == PickleMachine::Kind::kTuple; }
  // Returns the items of a list, or of one that a helper of LibTorch gives a type.
  std::optional<std::vector<Id>> find_list(Id id) const;
  std::optional<std::string_view> find_text(Id id) const;
  std::optional<std::int64_t> find_integer(Id id) const;

 private:
  struct State {
    Id value = PickleMachine::kNothing;
    std::size_t items = 0;  // when the object was made; what the dict gets later is not part of it
    bool is_repeated = false;
  };

  void on_call(Id, Id, Id) override {}
  void on_state(Id target, Id state) override;
  void on_fill(Id, PickleMachine::Kind) override {}
  void on_persistent(Id) override {}
  void on_extension() override {}

  std::string maker(Id id) const;  // the name of the function of which the value is the result
  void check_object(Id id, BytecodeTypes& types, BytecodeClasses& classes,
                    const std::map<std::string, BytecodeTypes::Id, std::less<>>& set_states,
                    const Tell& tell);

  PickleMachine machine_;
  std::optional<Id> result_;
  std::map<Id, State> states_;  // by object
  std::vector<BytecodeTypes::Id> types_of_;
};

}  // namespace fxtrace::internal::security
