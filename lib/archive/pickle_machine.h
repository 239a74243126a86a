// An abstract pickle machine: executes the opcodes of a Python pickle on simplified values.
//
// A pickle is a program for a stack machine, and an unpickler that runs it imports and calls whatever it
// names.  This machine runs the same opcodes, and where an unpickler would import or call, it makes a value
// that says so.  Readers then take what they need from the values (the tensors of a state_dict, the class of
// a module), and the security scan asks what would have been called.
//
// Invariants:
// 1. Nothing is built, imported or called.  A global is a pair of texts, and a call is kept as its callable
//    and its arguments.
// 2. Values are never removed, and an Id is a value's position in order of creation.  Value 0 is not of the
//    pickle: it stands for what an invalid pickle pops from an empty stack.
// 3. The parts of a value were created before it, so a walk over parts ends.  Items of dicts are added later
//    and may lead back to the dict; a walk over them needs a bound of its own.
// 4. The items of a set are not kept.
// 5. Texts are views of the pickle's bytes and are not decoded.
// 6. run() takes time and memory linear in the opcodes and the bytes.  An index of the memo must be smaller
//    than the limit of opcodes, so that a few bytes cannot ask for a large memo.
// 7. run() never throws for what the bytes are.  It returns how the pickle ended, and the values made until
//    then can be read.
// 8. The watcher is told of a call before the value for its result exists.
//
// Example: the pickle of an object whose __reduce__ returns (os.system, ("id",)):
//
//   c os system    makes 1 "os", 2 "system", and 3: a global with parts 1 and 2      stack: 3
//   (              sets a mark                                                       stack: 3 |
//   X "id"         makes 4: a string                                                 stack: 3 | 4
//   t              makes 5: a tuple with part 4                                      stack: 3 5
//   R              tells the watcher on_call(3, 5); makes 6: a call with parts 3, 5  stack: 6
//   .              ends with kStop; find_result() is 6, and global_name(3) "os.system"
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/pickle_opcodes.h"

namespace fxtrace::internal {

class PickleMachine : PickleOpcodes<PickleMachine, std::uint32_t> {
 public:
  using Id = std::uint32_t;  // the position of a value in order of creation
  using Item = std::pair<Id, Id>;
  static constexpr Id kNothing = 0;  // the value that an invalid pickle pops from an empty stack

  enum class Kind {
    kOther,
    kInteger,     // number; only integers of up to eight bytes
    kString,      // text
    kBytes,       // text: bytes, or a bytearray
    kGlobal,      // parts: its module and its name
    kTuple,       // parts: its items
    kList,        // items: its items, as keys
    kDict,        // items: its keys and values
    kCall,        // parts: the callable and the tuple of arguments; items: those of a dict given as state
    kPersistent,  // parts: the id of an object outside the pickle
  };

  // An observer of what an unpickler would do to the values on its stack beyond making them.
  class PickleWatcher {
   public:
    virtual ~PickleWatcher() = default;
    // `arguments` is a tuple, if it has kind kTuple; `keywords` is kNothing, or what NEWOBJ_EX has in place
    // of a dict of keyword arguments.
    virtual void on_call(Id callable, Id arguments, Id keywords) = 0;
    virtual void on_state(Id target, Id state) = 0;      // BUILD: __setstate__, or attributes
    virtual void on_fill(Id target, Kind expected) = 0;  // APPEND, SETITEM: methods of the target
    virtual void on_persistent(Id id) = 0;
    virtual void on_extension() = 0;  // EXT1, ...: a global that the process registered under a number
  };

  struct Value {
    Kind kind = Kind::kOther;
    std::uint32_t first_part = 0, part_count = 0;
    std::uint32_t items = 0;  // index in items_; 0 without items
    std::int64_t number = 0;  // of a boolean 0 or 1, although it is kOther
    std::string_view text;    // points into the bytes
  };

  enum class End {
    kStop,       // STOP was reached
    kTruncated,  // the bytes end before STOP
    kLimit,      // the pickle has more than `max_opcodes` opcodes
    kUnknown,    // an invalid opcode, or one that unpicklers refuse here
  };

  // `bytes` must outlive the machine.
  explicit PickleMachine(std::string_view bytes, std::size_t start = 0, PickleWatcher* watcher = nullptr)
      : PickleOpcodes(bytes, start), watcher_(watcher) {}

  // The limits of opcodes for a model's own pickles, and for one that takes `stored` bytes in its file, where
  // it may be compressed.  Each opcode takes some sixty bytes of memory.
  static constexpr std::size_t kMaxOpcodes = 8'000'000;
  static constexpr std::size_t max_opcodes(std::uint64_t stored) {
    constexpr std::uint64_t kFree = 400'000;
    return static_cast<std::size_t>(stored < kMaxOpcodes - kFree ? kFree + stored : kMaxOpcodes);
  }
  // Executes the pickle up to STOP, or to the first reason to end before.
  End run(std::size_t max_opcodes);

  std::size_t position() const { return at_; }  // after the last opcode processed
  // Returns the pickled value; when the pickle ended early, the outermost container that was begun.
  std::optional<Id> find_result() const;

  const Value& value(Id id) const { return values_[id]; }
  std::size_t value_count() const { return values_.size(); }  // ids are smaller, in order of creation
  std::span<const Id> parts(Id id) const {
    return std::span(parts_).subspan(values_[id].first_part, values_[id].part_count);
  }
  const std::vector<Item>& items(Id id) const { return items_[values_[id].items]; }
  bool is_global(Id id, std::string_view module, std::string_view name) const;
  // Returns "module.name" of a global, each cut to `max_size` bytes; empty for other values.
  std::string global_name(Id id, std::size_t max_size) const;

 private:
  friend PickleOpcodes;

  struct MalformedPickle {
    End end;
  };
  static constexpr Id kUnset = UINT32_MAX;

  // The operations that PickleOpcodes calls.
  void push_none() { push(Kind::kOther); }
  void push_boolean(bool value) {
    push(Kind::kOther);
    values_.back().number = value ? 1 : 0;
  }
  void push_integer(std::int64_t number);
  void push_long(std::uint64_t size);
  void push_real(std::string_view) { push(Kind::kOther); }
  void push_text(std::string_view text);
  void push_global(std::string_view module, std::string_view name);
  void push_tuple(std::span<const Id> items) { push_parts(Kind::kTuple, items); }
  void push_list(std::span<const Id> items);
  void push_dict(std::span<const Id> items);
  void append(std::span<const Id> items);
  void set_items(std::span<const Id> flat);
  void make_object(Id arguments) { call(pop(), arguments); }
  void call(Id callable, Id arguments, Id keywords = kNothing);
  void build(Id state);
  void push_persistent(Id id);
  void put(std::uint64_t index);
  void get(std::uint64_t index);
  static void accept_protocol(std::uint64_t number) {
    if (number > 5) throw MalformedPickle{End::kUnknown};
  }
  static void charge(std::size_t) {}
  void other(unsigned char opcode);
  Id missing();
  [[noreturn]] static void end_in_value() { throw MalformedPickle{End::kTruncated}; }
  [[noreturn]] static void end_in_line() { throw MalformedPickle{End::kTruncated}; }
  [[noreturn]] static void no_mark() { throw MalformedPickle{End::kUnknown}; }

  void push(Kind kind);
  void push_parts(Kind kind, std::span<const Id> parts);
  void push_other(std::uint64_t size);
  void push_bytes(std::uint64_t size);
  Id make_tuple(std::span<const Id> items);
  void push_digits(std::string_view digits);
  void push_global_of_stack();
  void fill(Kind expected);
  void add_list_items(Id target, std::span<const Id> list);
  void add_items(Id target, std::span<const Id> flat);
  std::vector<Item>& items_of(Id target);
  std::optional<Id> find_top() const;

  std::size_t max_opcodes_ = 0;
  std::deque<Value> values_{Value{}};
  std::vector<Id> parts_;                     // of all values, concatenated
  std::vector<std::vector<Item>> items_{{}};  // of lists, dicts and objects; the first is empty and shared
  // The memo, by index.  Python's MEMOIZE takes the number of entries as the next index.
  std::vector<Id> memo_;
  std::size_t memo_count_ = 0;
  PickleWatcher* watcher_ = nullptr;
};

// The kind of object that a Python pickle holds, found without building or running anything.

struct PickleScan {
  enum class Kind { kOther, kDict, kList, kTuple, kString, kTensor, kGlobal, kObject };

  bool valid = false;        // all opcodes up to STOP, or to the end of the bytes, are valid
  std::size_t end = 0;       // offset after STOP
  Kind kind = Kind::kOther;  // kind of the pickled object
  std::string type;          // class of an object: "pkg.Net"
  std::vector<std::pair<std::string, Kind>>
      items;  // items of a dict, or attributes of an object; string keys only
};

// Scans `bytes` from `start` on, which may be only the beginning of a pickle.  Never throws, and works in
// bounded memory whatever the bytes are.
PickleScan scan_pickle(std::string_view bytes, std::size_t start = 0);

// Returns a description: "a state_dict", "a whole module (pkg.Net)", "a checkpoint (a dict with keys 'epoch',
// 'model')", ...
std::string describe(const PickleScan& scan);

}  // namespace fxtrace::internal
