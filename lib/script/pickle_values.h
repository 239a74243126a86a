// A pickle machine that makes Values from a pickle of TorchScript.  The host gives names their meaning;
// nothing is imported.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "script/value.h"

namespace fxtrace::script {

// The memory that values of a pickle may take, for one that takes `stored` bytes in its file, where it may be
// compressed.
constexpr std::size_t pickle_memory(std::uint64_t stored) {
  constexpr std::uint64_t kFree = std::uint64_t{32} << 20;
  constexpr std::uint64_t kBytesOfByte = 64;
  constexpr std::uint64_t kMost = std::uint64_t{384} << 20;
  return static_cast<std::size_t>(std::min(kMost, kFree + kBytesOfByte * std::min(stored, kMost)));
}

class PickleValues {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // Resolves a name: returns a Handle to be called later, or a value.
    virtual Value global(const std::string& module, const std::string& name) = 0;
    // Calls a handle.  The arguments are a tuple, except for enums, where they are the value.
    virtual Value call(Handle& callable, const Value& arguments) = 0;
    virtual Value build(Handle& type, const Value& state) = 0;
    virtual Value persistent(const TupleValue& id) = 0;
    // Returns the value for a Handle inside a tuple; nothing when it must not be in one.
    virtual std::optional<Value> in_tuple(const Value&) { return std::nullopt; }
  };

  // `bytes` and `host` must outlive the machine.  What the values and the machine's own tables take is
  // limited by pickle_memory().
  PickleValues(std::string_view bytes, std::uint64_t stored, Host& host)
      : bytes_(bytes), host_(host), most_memory_(pickle_memory(stored)) {}

  // Runs the pickle.  Throws Error(kInput) when it is damaged, too large, nested too deep, or not as LibTorch
  // writes it, and for values that contain themselves.
  Value run();

  // Counts memory of values that the host makes.  Throws Error(kInput) beyond the limit.
  void spend(std::size_t bytes);

 private:
  // How deep a value is nested.
  struct Level {
    std::uint32_t nesting = 0;
    bool is_shared = false;  // fetched from the memo: no longer to be changed
  };
  static constexpr std::uint32_t kFlat = 0;              // the level of what holds nothing and never will
  static constexpr std::uint32_t kNotKept = UINT32_MAX;  // of an entry of the memo that is not there
  struct Entry {
    Value value;
    std::uint32_t level = kFlat;  // index into levels_
  };

  void step(unsigned char opcode);
  std::uint64_t number(std::size_t size);
  std::int64_t signed_number(std::size_t size);
  double real_number();
  std::string_view text(std::uint64_t size);
  std::string_view line();

  void push(Value value);
  Value pop();
  Entry& top();
  // Makes a level for what holds the values that this step took off.
  std::uint32_t level_above();
  // Called before the top takes in the values that this step took off.
  void deepen();
  void count_value();
  // Pops a value to be put into another one; throws for a Handle that is still to be called.
  Value pop_data();
  Value part_of_tuple(Value value);
  std::vector<Value> pop_to_mark(bool for_tuple = false);
  void push_tuple(std::size_t count);
  void append(std::vector<Value> items);
  void set_items(const std::vector<Value>& flat);
  void put(std::uint64_t index);
  void get(std::uint64_t index);
  [[noreturn]] static void damaged(const char* why);
  static void check_nesting(std::uint32_t nesting);

  std::string_view bytes_;
  Host& host_;
  std::size_t at_ = 0;
  std::size_t most_memory_;
  std::size_t memory_ = 0;
  bool stopped_ = false;
  std::vector<Entry> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::vector<Entry> memo_;
  std::vector<Level> levels_{Level{}};
  std::uint32_t deepest_ = 0;  // the nesting of what holds the values that this step took off
  std::size_t count_ = 0;      // of values made
};

}  // namespace fxtrace::script
