// The values in the pickles of an archive for the lite interpreter (bytecode_check.h).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archive/pickle_machine.h"
#include "security/bytecode_types.h"
#include "security/pickle_check.h"

namespace fxtrace::internal::security {

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
