// A pickle machine that makes Values from a pickle of TorchScript.  The host resolves names of classes and
// functions; nothing is imported.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "archive/pickle_opcodes.h"
#include "archive/zip_archive.h"
#include "torchscript/values/tensor_value.h"
#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {

// Returns the memory that the values of a pickle may take, in bytes.  The pickle takes `stored` bytes in its
// file, where it may be compressed.
constexpr std::size_t pickle_memory(std::uint64_t stored) {
  constexpr std::uint64_t kFree = std::uint64_t{32} << 20;
  constexpr std::uint64_t kBytesOfByte = 64;
  constexpr std::uint64_t kMost = std::uint64_t{384} << 20;
  return static_cast<std::size_t>(std::min(kMost, kFree + kBytesOfByte * std::min(stored, kMost)));
}

// A value on the stack, or in the memo.
struct PickledValue {
  Value value;
  std::uint32_t level = 0;  // see PickleValues
};

class PickleValues : PickleOpcodes<PickleValues, PickledValue> {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // Resolves a name: returns a Handle to be called later, or a value.
    virtual Value global(const std::string& module, const std::string& name) = 0;
    // Calls a handle.  The arguments are a tuple, except for enums, whose argument is the value.
    virtual Value call(Handle& callable, const Value& arguments) = 0;
    virtual Value build(Handle& type, const Value& state) = 0;
    virtual Value persistent(const TupleValue& id) = 0;
    // Returns the value for a Handle inside a tuple; nothing when it must not be in one.
    virtual std::optional<Value> in_tuple(const Value&) { return std::nullopt; }
  };

  // `bytes` and `host` must outlive the machine.  The memory of the values and of the machine's own tables is
  // limited by pickle_memory().
  PickleValues(std::string_view bytes, std::uint64_t stored, Host& host)
      : PickleOpcodes(bytes), host_(host), most_memory_(pickle_memory(stored)) {}

  // Runs the pickle.  Throws Error(kInput) when it is damaged, too large, nested too deep, or not as LibTorch
  // writes it, and for values that contain themselves.
  Value run();

  // Counts memory of values that the host makes.  Throws Error(kInput) beyond the limit.
  void spend(std::size_t bytes);

 private:
  friend PickleOpcodes;
  using Entry = PickledValue;

  // The depth of a value's nesting, shared by all references to it on the stack and in the memo.
  struct Level {
    std::uint32_t nesting = 0;
    bool is_shared = false;  // fetched from the memo: no longer to be changed
  };
  static constexpr std::uint32_t kFlat = 0;              // the level of values that never hold others
  static constexpr std::uint32_t kNotKept = UINT32_MAX;  // the level of an absent entry of the memo

  // The functions that PickleOpcodes calls.
  void push_none() { push({}); }
  void push_boolean(bool value) { push(value); }
  void push_integer(std::int64_t value) { push(value); }
  void push_long(std::uint64_t size);
  void push_real(std::string_view big_endian);
  void push_text(std::string_view text);
  void push_global(std::string_view module, std::string_view name);
  void push_tuple(std::span<Entry> entries);
  void push_list(std::span<Entry> entries);
  void push_dict(std::span<Entry> entries);
  void append(std::span<Entry> entries);
  void set_items(std::span<Entry> entries) { set_items(data(entries)); }
  void make_object(Entry arguments);
  void call(Entry callable, Entry arguments);
  void build(Entry state);
  void push_persistent(Entry id);
  void put(std::uint64_t index);
  void get(std::uint64_t index);
  static void accept_protocol(std::uint64_t) {}
  void charge(std::size_t count);
  [[noreturn]] static void other(unsigned char opcode);
  [[noreturn]] static Entry missing();
  [[noreturn]] static void end_in_value();
  [[noreturn]] static void end_in_line();
  [[noreturn]] static void no_mark();

  void push(Value value);
  Entry& top();
  // Takes a value off the stack for this step.
  Value taken(Entry& entry);
  // Take off values that become parts of another one; throw for a Handle that is still to be called.
  Value data(Entry& entry);
  std::vector<Value> data(std::span<Entry> entries);
  void set_items(const std::vector<Value>& flat);
  // Makes a level for a value that holds the values that this step took off.
  std::uint32_t level_above();
  // Adjusts the level of the top before the values that this step took off are put into it.
  void deepen();
  void count_value();
  [[noreturn]] static void damaged(const char* why);
  static void check_nesting(std::uint32_t nesting);

  Host& host_;
  std::size_t most_memory_;
  std::size_t memory_ = 0;
  std::vector<Entry> memo_;
  std::vector<Level> levels_{Level{}};
  std::uint32_t deepest_ = 0;  // the nesting of a value that holds the values that this step took off
  std::size_t count_ = 0;      // the number of values made
};

// Rebuilds tensors of a TorchScript pickle, as the functions of torch._utils do, without their elements.

// Throws Error(kInput).
[[noreturn]] void pickle_is_damaged(const std::string& why);

class PickleTensors {
 public:
  // Storages are the records under `folder` ("archive/data/"); `prefix` is the part of it that the names of
  // records leave out.
  PickleTensors(const ZipArchive& zip, std::string prefix, std::string folder)
      : zip_(zip), prefix_(std::move(prefix)), folder_(std::move(folder)) {}

  // Returns an empty tensor over the storage ("storage", dtype, key, device, elements).  Tensors with one key
  // share the storage, which has one device and the size of its record; the size in the pickle is used only
  // for the device meta, which has no record.  Throws Error(kInput), as the functions below do.
  TensorRef storage(const TupleValue& id);

  // Implements _rebuild_tensor_v2, with the arguments (storage, offset, sizes, strides, requires_grad,
  // hooks[, bits]), and _rebuild_qtensor, which has the quantization before requires_grad.
  static TensorRef rebuild(const TupleValue& arguments, bool is_quantized);
  static TensorRef rebuild_parameter(const TupleValue& arguments);  // (tensor, requires_grad, hooks)
  // Arguments: (layout, sizes, requires_grad, indices, values) or (layout, sizes, requires_grad, compressed,
  // plain, values).
  static TensorRef rebuild_sparse(const TupleValue& arguments);

 private:
  const ZipArchive& zip_;
  std::string prefix_, folder_;
  std::unordered_map<std::string, std::shared_ptr<const TensorStorage>> storages_;
};

// Returns the dtype of a storage class by its name: float32 for "FloatStorage".
std::optional<ScalarType> find_storage_type(std::string_view name);

}  // namespace fxtrace::internal::torchscript
