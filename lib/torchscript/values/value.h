// Run-time values of TorchScript: a Value is None, a bool, an int or a float, or a counted reference to an
// object.
//
// 1. The kinds None, uninitialized, bool, int and double are stored in the Value itself.  All kinds from
//    kComplex on are references (is_shared()), so the order of ValueTag matters.
// 2. Copying a Value copies the reference and never the object, as assignment does in Python.  All copies
//    see changes of a list, a dict or an object.  Complex numbers, strings, devices, tuples, enum members
//    and functions are constant, and tensors are not written to once they are made (tensor_value.h).  A
//    list in a tuple can still change.
// 3. A reference is never null: a Value made from a null Ref is None, and so is a Value that was moved
//    from.
// 4. identity() is the object's address, as `id` in Python.  is() compares identities when either side is a
//    reference, and otherwise values.
// 5. Counts are not atomic: all copies of a Value belong to one thread.  Cycles are not freed
//    (ref_counted.h).
// 6. Keys of dicts that are equal have equal hashes, 0.0 and -0.0 among them.  Hashes differ between
//    processes, but the order of a dict is that of insertion, so results do not depend on them.
// 7. find_equal() and find_deep_copy() end for every value: beyond a depth or a number of steps they return
//    nothing.  A deep copy shares within itself what the value shares within itself, cycles included.
//
// Example:
//
//   a = [1, 2]              a refers to a ListValue, which has 1 holder
//   b = a                   both refer to the same ListValue, which has 2 holders; a.is(b)
//   t = (b, 5)              a TupleValue of two Values: a third reference to the list, and the int itself
//   b.append(3)             a and t[0] are [1, 2, 3] too
//   c = deepcopy([a, b])    find_deep_copy(): a new outer list, and one new inner list that both items share
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shapes/tensor_options.h"
#include "torchscript/language/types.h"
#include "torchscript/values/ref_counted.h"

namespace fxtrace::internal::torchscript {

struct TensorValue;  // tensor_value.h
struct ListValue;
class DictValue;
struct TupleValue;
struct ObjectValue;
struct EnumValue;
struct FunctionValue;

// A placeholder for a value that the caller of the code cannot compute; derived classes say which.
class Handle : public RefCounted {
 public:
  virtual TypePtr type() const = 0;
};

enum class ValueTag : std::uint8_t {
  kNone,
  kUninitialized,  // a value that is never used
  kBool,
  kInt,
  kDouble,
  kComplex,
  kString,
  kTensor,
  kList,
  kDict,
  kTuple,
  kObject,  // an instance of a module, a script class or a C++ class (torchbind)
  kEnum,
  kDevice,
  kFunction,
  kHandle,
};

class Value {
 public:
  Value() = default;                                               // None
  Value(std::same_as<bool> auto value) : kind_(ValueTag::kBool) {  // NOLINT: a value stands for itself
    bits_.boolean = value;
  }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Value(T value) : kind_(ValueTag::kInt) {  // NOLINT: likewise
    bits_.integer = static_cast<std::int64_t>(value);
  }
  Value(double value) : kind_(ValueTag::kDouble) { bits_.real = value; }  // NOLINT: likewise
  Value(std::complex<double> value);                                      // NOLINT: likewise
  Value(std::string value);                                               // NOLINT: likewise
  Value(std::string_view value) : Value(std::string(value)) {}            // NOLINT: likewise
  Value(const char* value) : Value(std::string(value)) {}                 // NOLINT: likewise
  Value(Device value);                                                    // NOLINT: likewise
  // A null reference becomes None.
  Value(Ref<TensorValue> value);    // NOLINT: likewise
  Value(Ref<ListValue> value);      // NOLINT: likewise
  Value(Ref<DictValue> value);      // NOLINT: likewise
  Value(Ref<TupleValue> value);     // NOLINT: likewise
  Value(Ref<ObjectValue> value);    // NOLINT: likewise
  Value(Ref<EnumValue> value);      // NOLINT: likewise
  Value(Ref<FunctionValue> value);  // NOLINT: likewise
  template <std::derived_from<Handle> T>
  Value(Ref<T> value) : Value(ValueTag::kHandle, std::move(value)) {}  // NOLINT: likewise
  static Value uninitialized();

  Value(const Value& other) noexcept : kind_(other.kind_), bits_(other.bits_) {
    if (is_shared()) bits_.shared->hold();
  }
  Value(Value&& other) noexcept : kind_(std::exchange(other.kind_, ValueTag::kNone)), bits_(other.bits_) {}
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(bits_, other.bits_);
    return *this;
  }
  ~Value() {
    if (is_shared()) bits_.shared->let_go();
  }

  ValueTag kind() const { return kind_; }
  bool is_none() const { return kind_ == ValueTag::kNone; }
  bool is_uninitialized() const { return kind_ == ValueTag::kUninitialized; }
  bool is_bool() const { return kind_ == ValueTag::kBool; }
  bool is_int() const { return kind_ == ValueTag::kInt; }
  bool is_double() const { return kind_ == ValueTag::kDouble; }
  bool is_complex() const { return kind_ == ValueTag::kComplex; }
  bool is_scalar() const;  // a bool or a number
  bool is_string() const { return kind_ == ValueTag::kString; }
  bool is_tensor() const { return kind_ == ValueTag::kTensor; }
  bool is_list() const { return kind_ == ValueTag::kList; }
  bool is_dict() const { return kind_ == ValueTag::kDict; }
  bool is_tuple() const { return kind_ == ValueTag::kTuple; }
  bool is_object() const { return kind_ == ValueTag::kObject; }
  bool is_enum() const { return kind_ == ValueTag::kEnum; }
  bool is_device() const { return kind_ == ValueTag::kDevice; }
  bool is_function() const { return kind_ == ValueTag::kFunction; }
  bool is_handle() const { return kind_ == ValueTag::kHandle; }

  // Return the value; throw Error(kInternal) when it is of another kind.
  bool to_bool() const { return bits(ValueTag::kBool).boolean; }
  std::int64_t to_int() const { return bits(ValueTag::kInt).integer; }
  double to_double() const { return bits(ValueTag::kDouble).real; }
  std::complex<double> to_complex() const;
  const std::string& to_string() const;
  const Device& to_device() const;
  TensorValue& to_tensor() const;
  ListValue& to_list() const;
  DictValue& to_dict() const;
  TupleValue& to_tuple() const;
  ObjectValue& to_object() const;
  EnumValue& to_enum() const;
  FunctionValue& to_function() const;
  Handle& to_handle() const;

  // Returns the elements of a list or tuple.  Throws Error(kInternal) likewise.
  const std::vector<Value>& items() const;
  // Returns the address of the shared object; null for values stored in the Value itself.
  const void* identity() const { return is_shared() ? bits_.shared : nullptr; }
  // Returns whether both are the same value, as `is` in Python.
  bool is(const Value& other) const;

 private:
  union Bits {
    bool boolean;
    std::int64_t integer = 0;
    double real;
    RefCounted* shared;
  };

  template <class T>
  Value(ValueTag kind, Ref<T> value) {  // NOLINT(performance-unnecessary-value-param)
    if (!value) return;
    kind_ = kind;
    bits_.shared = value.get();
    bits_.shared->hold();
  }
  bool is_shared() const { return kind_ >= ValueTag::kComplex; }
  const Bits& bits(ValueTag kind) const {
    if (kind_ != kind) complain(kind);
    return bits_;
  }
  [[noreturn]] void complain(ValueTag wanted) const;

  ValueTag kind_ = ValueTag::kNone;
  Bits bits_;
};
static_assert(sizeof(Value) == 16);

struct ListValue : RefCounted {
  explicit ListValue(TypePtr element, std::vector<Value> values = {})
      : element_type(std::move(element)), items(std::move(values)) {}
  TypePtr element_type;
  std::vector<Value> items;
};

struct TupleValue : RefCounted {
  explicit TupleValue(std::vector<Value> values, TypePtr named = nullptr)
      : items(std::move(values)), type(std::move(named)) {}
  const std::vector<Value> items;
  const TypePtr type;  // type of a NamedTuple; null for others
};

// A dict in insertion order, as in Python.
class DictValue : public RefCounted {
 public:
  struct Entry {
    Value key, value;
    std::size_t hash = 0;
  };

  DictValue(TypePtr key, TypePtr value) : key_type(std::move(key)), value_type(std::move(value)) {}

  // Returns whether the value may be a key: None, a bool, a number, a string or a device, which equal only
  // keys of their kind; or a tensor or a handle, which equal only themselves.
  static bool may_be_key(const Value& key);

  std::size_t size() const { return entries_.size(); }
  const std::vector<Entry>& entries() const { return entries_; }
  const Value* find(const Value& key) const;  // null when absent
  // Throws Error(kInternal) when may_be_key() is false.
  void set(const Value& key, Value value);
  bool erase(const Value& key);  // takes time linear in the entries after it
  void clear();
  Ref<DictValue> copy() const;

  TypePtr key_type, value_type;

 private:
  static constexpr std::size_t kFew = 8;  // dicts of at most this size are searched linearly
  std::size_t position(const Value& key, std::size_t hash) const;
  void make_index();

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> index_;  // hash table, open addressing: index in `entries_` plus 1; 0: empty
};

struct ObjectValue : RefCounted {
  ObjectValue(TypePtr class_type, std::size_t slot_count) : type(std::move(class_type)), slots(slot_count) {}
  const TypePtr type;
  std::vector<Value> slots;  // by index of the class's attributes
  // The argument for __setstate__, which is code of the model or C++ and is not run; None when the class has
  // no __setstate__.
  Value state;
};

struct EnumValue : RefCounted {
  EnumValue(TypePtr enum_type, std::string enum_name, Value enum_value)
      : type(std::move(enum_type)), name(std::move(enum_name)), value(std::move(enum_value)) {}
  const TypePtr type;
  const std::string name;
  const Value value;
};

struct FunctionValue : RefCounted {
  explicit FunctionValue(TypePtr function) : type(std::move(function)) {}
  const TypePtr type;
};

inline Value make_list(TypePtr element, std::vector<Value> items = {}) {
  return make_counted<ListValue>(std::move(element), std::move(items));
}
inline Value make_tuple(std::vector<Value> items, TypePtr named = nullptr) {
  return make_counted<TupleValue>(std::move(items), std::move(named));
}
Value make_int_list(const std::vector<std::int64_t>& numbers);

// Values nested deeper than this are not compared, copied, printed or given a type.
inline constexpr std::size_t kMaxValueDepth = 500;

// Compares as LibTorch does: values of different kinds are never equal (1 and 1.0); tensors, objects and
// handles equal only themselves.  Returns nothing when the values are too large or cyclic.
std::optional<bool> find_equal(const Value& a, const Value& b);

// Returns a deep copy, which shares no list, dict, tuple or object with the value, but shares tensors,
// handles and whatever else it refers to.  Returns nothing when the value is nested too deep.
std::optional<Value> find_deep_copy(const Value& value);

// Returns the type of the value as it is now; for a handle the type it carries; Any when nested too deep.
TypePtr dynamic_type(const Value& value);

}  // namespace fxtrace::internal::torchscript
