// The machine that a pickle of TorchScript is a program for: it makes Values.  What the names in it mean is
// told by whoever runs it; nothing is imported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "script/value.h"

namespace fxtrace::script {

class PickleValues {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // What stands under a name: a Handle that is called later, or a value.
    virtual Value global(const std::string& module, const std::string& name) = 0;
    // The arguments are a tuple, but for enums, which have their value there.
    virtual Value call(Handle& callable, const Value& arguments) = 0;
    virtual Value build(Handle& type, const Value& state) = 0;
    virtual Value persistent(const TupleValue& id) = 0;
    // What a Handle is where it stands in a tuple; nothing where none may.
    virtual std::optional<Value> in_tuple(const Value&) { return std::nullopt; }
  };

  // Both must outlive the machine.  All memory of one pickle together is limited: each value counts with what
  // it takes at least.
  PickleValues(std::string_view bytes, Host& host) : bytes_(bytes), host_(host) {}

  // Throws Error(kInput): damaged, too large, nested too deep, or not what LibTorch writes.
  Value run();

  // Counts memory of values that the host makes.  Throws Error(kInput) when it is too much.
  void spend(std::size_t bytes);

 private:
  static constexpr std::size_t kMaxMemory = std::size_t{1} << 28;

  void step(unsigned char opcode);
  std::uint64_t number(std::size_t size);
  std::int64_t signed_number(std::size_t size);
  double real_number();
  std::string_view text(std::uint64_t size);
  std::string_view line();

  void push(Value value);
  Value pop();
  Value& top();
  // For what is to stand in another value: no name that is still to be called.
  Value pop_data();
  Value part_of_tuple(Value value);
  std::vector<Value> pop_to_mark(bool for_tuple = false);
  void push_tuple(std::size_t count);
  void append(std::vector<Value> items);
  void set_items(const std::vector<Value>& flat);
  void put(std::uint64_t index);
  void get(std::uint64_t index);
  [[noreturn]] static void damaged(const char* why);

  std::string_view bytes_;
  Host& host_;
  std::size_t at_ = 0;
  std::size_t memory_ = 0;
  bool stopped_ = false;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::vector<Value> memo_;
  std::vector<bool> is_kept_;  // of the memo
};

}  // namespace fxtrace::script
