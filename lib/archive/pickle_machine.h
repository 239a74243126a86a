// An abstract pickle machine: it executes a Python pickle on simplified values.  Nothing is built, imported
// or called; a call is kept as callable and arguments.
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

namespace fxtrace {

class PickleMachine : PickleOpcodes<PickleMachine, std::uint32_t> {
 public:
  using Id = std::uint32_t;  // identifies a value
  using Item = std::pair<Id, Id>;

  enum class Kind {
    kOther,
    kInteger,     // number; only integers of up to eight bytes
    kString,      // text
    kGlobal,      // parts: module and name
    kTuple,       // parts
    kList,        // its items are not kept
    kDict,        // items
    kCall,        // parts: the callable and the tuple of arguments; items: those of a dict given as state
    kPersistent,  // parts: the id of a value outside the pickle
  };

  // Is told what an unpickler would do to the values on its stack beyond making them.
  class PickleWatcher {
   public:
    virtual ~PickleWatcher() = default;
    virtual void on_call(Id callable, Id arguments) = 0;  // arguments: a tuple, if it has kind kTuple
    virtual void on_state(Id target) = 0;                 // BUILD: __setstate__, or attributes
    virtual void on_fill(Id target, Kind expected) = 0;   // APPEND, SETITEM: methods of the target
    virtual void on_persistent(Id id) = 0;
    virtual void on_extension() = 0;  // EXT1, ...: whatever the process has registered under a number
  };

  struct Value {
    Kind kind = Kind::kOther;
    std::uint32_t first_part = 0, part_count = 0;
    std::uint32_t items = 0;  // index in items_; 0: none
    std::int64_t number = 0;
    std::string_view text;  // points into the bytes
  };

  enum class End {
    kStop,       // STOP was reached
    kTruncated,  // the bytes end before STOP
    kLimit,      // more than `max_opcodes`
    kUnknown,    // an invalid opcode, or one that unpicklers refuse here
  };

  // `bytes` must outlive the machine.
  explicit PickleMachine(std::string_view bytes, std::size_t start = 0, PickleWatcher* watcher = nullptr)
      : PickleOpcodes(bytes, start), watcher_(watcher) {}

  // The limit for a model's own pickles, for one that takes `stored` bytes in its file, where it may be
  // compressed; each opcode takes some sixty bytes.
  static constexpr std::size_t kMaxOpcodes = 8'000'000;
  static constexpr std::size_t max_opcodes(std::uint64_t stored) {
    constexpr std::uint64_t kFree = 400'000;
    return static_cast<std::size_t>(stored < kMaxOpcodes - kFree ? kFree + stored : kMaxOpcodes);
  }
  // Takes time and memory linear in the opcodes and bytes, whatever they are.
  End run(std::size_t max_opcodes);

  std::size_t position() const { return at_; }  // after the last opcode processed
  // Returns the pickled value; when the pickle ends early, the outermost container that was begun.
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
  static constexpr Id kNothing = 0;  // the value that an invalid pickle pops from an empty stack

  // What PickleOpcodes needs.
  void push_none() { push(Kind::kOther); }
  void push_boolean(bool) { push(Kind::kOther); }
  void push_integer(std::int64_t number);
  void push_long(std::uint64_t size);
  void push_real(std::string_view) { push(Kind::kOther); }
  void push_text(std::string_view text);
  void push_global(std::string_view module, std::string_view name);
  void push_tuple(std::span<const Id> items) { push_parts(Kind::kTuple, items); }
  void push_list(std::span<const Id>) { push(Kind::kList); }
  void push_dict(std::span<const Id> items);
  void append(std::span<const Id>) { fill(Kind::kList); }
  void set_items(std::span<const Id> flat);
  void make_object(Id arguments) { call(pop(), arguments); }
  void call(Id callable, Id arguments);
  void build(Id state);
  void push_persistent(Id id);
  void put(std::uint64_t index);
  void get(std::uint64_t index);
  static void accept_protocol(std::uint64_t number) {
    if (number > 5) throw MalformedPickle{End::kUnknown};
  }
  static void reserve(std::size_t) {}
  void other(unsigned char opcode);
  Id missing();
  [[noreturn]] static void end_in_value() { throw MalformedPickle{End::kTruncated}; }
  [[noreturn]] static void end_in_line() { throw MalformedPickle{End::kTruncated}; }
  [[noreturn]] static void no_mark() { throw MalformedPickle{End::kUnknown}; }

  void push(Kind kind);
  void push_parts(Kind kind, std::span<const Id> parts);
  void push_other(std::uint64_t size);
  void push_digits(std::string_view digits);
  void push_global_of_stack();
  void fill(Kind expected);
  void add_items(Id target, std::span<const Id> flat);
  std::optional<Id> find_top() const;

  std::size_t max_opcodes_ = 0;
  std::deque<Value> values_{Value{}};
  std::vector<Id> parts_;                     // of all values, concatenated
  std::vector<std::vector<Item>> items_{{}};  // of dicts and objects; the first is empty and shared
  // By index.  Python's MEMOIZE takes the number of entries as the next one.
  std::vector<Id> memo_;
  std::size_t memo_count_ = 0;
  PickleWatcher* watcher_ = nullptr;
};

}  // namespace fxtrace
