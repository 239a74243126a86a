#include "torchscript/values/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <string>
#include <unordered_map>

#include "support/error.h"
#include "torchscript/language/type_relations.h"
#include "torchscript/values/keyed_hash.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::torchscript {

// Objects to be freed wait in a list: freeing one adds those that it held to the list, without recursion.
void RefCounted::free(RefCounted* last) noexcept {
  thread_local RefCounted* waiting = nullptr;
  thread_local bool busy = false;
  last->next_ = std::exchange(waiting, last);
  if (std::exchange(busy, true)) return;
  while (waiting != nullptr) {
    const RefCounted* next = waiting;
    waiting = next->next_;
    delete next;
  }
  busy = false;
}

namespace {

struct ComplexValue : RefCounted {
  explicit ComplexValue(std::complex<double> complex) : value(complex) {}
  const std::complex<double> value;
};

struct StringValue : RefCounted {
  explicit StringValue(std::string text) : value(std::move(text)) {}
  const std::string value;
};

struct DeviceValue : RefCounted {
  explicit DeviceValue(Device device) : value(std::move(device)) {}
  const Device value;
};

// Names for messages, in the order of ValueTag.
constexpr std::array kKindNames{"None",       "an uninitialized value",
                                "a bool",     "an int",
                                "a float",    "a complex number",
                                "a str",      "a tensor",
                                "a list",     "a dict",
                                "a tuple",    "an object",
                                "an enum",    "a device",
                                "a function", "a handle"};
static_assert(kKindNames.size() == static_cast<std::size_t>(ValueTag::kHandle) + 1);

const char* name_of(ValueTag kind) { return kKindNames.at(static_cast<std::size_t>(kind)); }

}  // namespace

Value::Value(std::complex<double> value) : Value(ValueTag::kComplex, make_counted<ComplexValue>(value)) {}
Value::Value(std::string value) : Value(ValueTag::kString, make_counted<StringValue>(std::move(value))) {}
Value::Value(Device value) : Value(ValueTag::kDevice, make_counted<DeviceValue>(std::move(value))) {}
Value::Value(Ref<TensorValue> value) : Value(ValueTag::kTensor, std::move(value)) {}
Value::Value(Ref<ListValue> value) : Value(ValueTag::kList, std::move(value)) {}
Value::Value(Ref<DictValue> value) : Value(ValueTag::kDict, std::move(value)) {}
Value::Value(Ref<TupleValue> value) : Value(ValueTag::kTuple, std::move(value)) {}
Value::Value(Ref<ObjectValue> value) : Value(ValueTag::kObject, std::move(value)) {}
Value::Value(Ref<EnumValue> value) : Value(ValueTag::kEnum, std::move(value)) {}
Value::Value(Ref<FunctionValue> value) : Value(ValueTag::kFunction, std::move(value)) {}

Value Value::uninitialized() {
  Value value;
  value.kind_ = ValueTag::kUninitialized;
  return value;
}

bool Value::is_scalar() const { return is_bool() || is_int() || is_double() || is_complex(); }

std::complex<double> Value::to_complex() const {
  return static_cast<const ComplexValue*>(bits(ValueTag::kComplex).shared)->value;
}
const std::string& Value::to_string() const {
  return static_cast<const StringValue*>(bits(ValueTag::kString).shared)->value;
}
const Device& Value::to_device() const {
  return static_cast<const DeviceValue*>(bits(ValueTag::kDevice).shared)->value;
}
TensorValue& Value::to_tensor() const { return *static_cast<TensorValue*>(bits(ValueTag::kTensor).shared); }
ListValue& Value::to_list() const { return *static_cast<ListValue*>(bits(ValueTag::kList).shared); }
DictValue& Value::to_dict() const { return *static_cast<DictValue*>(bits(ValueTag::kDict).shared); }
TupleValue& Value::to_tuple() const { return *static_cast<TupleValue*>(bits(ValueTag::kTuple).shared); }
ObjectValue& Value::to_object() const { return *static_cast<ObjectValue*>(bits(ValueTag::kObject).shared); }
EnumValue& Value::to_enum() const { return *static_cast<EnumValue*>(bits(ValueTag::kEnum).shared); }
FunctionValue& Value::to_function() const {
  return *static_cast<FunctionValue*>(bits(ValueTag::kFunction).shared);
}
Handle& Value::to_handle() const { return *static_cast<Handle*>(bits(ValueTag::kHandle).shared); }

const std::vector<Value>& Value::items() const { return is_tuple() ? to_tuple().items : to_list().items; }

void Value::complain(ValueTag wanted) const {
  throw Error(ErrorKind::kInternal,
              std::string(name_of(kind_)) + " where " + name_of(wanted) + " is expected");
}

bool Value::is(const Value& other) const {
  if (is_shared() || other.is_shared()) return kind_ == other.kind_ && identity() == other.identity();
  return find_equal(*this, other).value_or(false);
}

Value make_int_list(const std::vector<std::int64_t>& numbers) {
  return make_list(int_type(), std::vector<Value>(numbers.begin(), numbers.end()));
}

// --- dicts ---

namespace {

// Equal keys have equal hashes, 0.0 and -0.0 among them.
std::size_t hash_of_key(const Value& key) {
  const auto of_numbers = [&](std::uint64_t first, std::uint64_t second = 0) {
    const std::array<std::uint64_t, 3> words{static_cast<std::uint64_t>(key.kind()), first, second};
    return keyed_hash({reinterpret_cast<const char*>(words.data()), sizeof words});  // NOLINT: as bytes
  };
  const auto of_real = [](double number) { return std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number); };
  switch (key.kind()) {
    case ValueTag::kBool:
      return of_numbers(key.to_bool() ? 1 : 0);
    case ValueTag::kInt:
      return of_numbers(static_cast<std::uint64_t>(key.to_int()));
    case ValueTag::kDouble:
      return of_numbers(of_real(key.to_double()));
    case ValueTag::kComplex:
      return of_numbers(of_real(key.to_complex().real()), of_real(key.to_complex().imag()));
    case ValueTag::kString:
      return keyed_hash(key.to_string());
    case ValueTag::kDevice:
      return keyed_hash(key.to_device().type);
    default:
      return of_numbers(reinterpret_cast<std::uintptr_t>(key.identity()));  // NOLINT: an address as a number
  }
}

bool are_equal_keys(const Value& a, const Value& b) { return find_equal(a, b).value_or(false); }

}  // namespace

bool DictValue::may_be_key(const Value& key) {
  return key.is_none() || key.is_scalar() || key.is_string() || key.is_device() || key.is_tensor() ||
         key.is_handle();
}

// Returns the index of the key's entry; SIZE_MAX when there is none.
std::size_t DictValue::position(const Value& key, std::size_t hash) const {
  const auto fits = [&](std::size_t i) {
    return entries_[i].hash == hash && are_equal_keys(entries_[i].key, key);
  };
  if (index_.empty()) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (fits(i)) return i;
    }
    return SIZE_MAX;
  }
  const std::size_t mask = index_.size() - 1;
  for (std::size_t slot = hash & mask; index_[slot] != 0; slot = (slot + 1) & mask) {
    if (fits(index_[slot] - 1)) return index_[slot] - 1;
  }
  return SIZE_MAX;
}

void DictValue::make_index() {
  index_.clear();
  if (entries_.size() <= kFew) return;
  index_.resize(std::bit_ceil(entries_.size() * 4));
  const std::size_t mask = index_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = entries_[i].hash & mask;
    while (index_[slot] != 0) slot = (slot + 1) & mask;
    index_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

const Value* DictValue::find(const Value& key) const {
  if (!may_be_key(key)) return nullptr;
  const std::size_t place = position(key, hash_of_key(key));
  return place == SIZE_MAX ? nullptr : &entries_[place].value;
}

void DictValue::set(const Value& key, Value value) {
  if (!may_be_key(key)) {
    throw Error(ErrorKind::kInternal, std::string(name_of(key.kind())) + " cannot be the key of a dict");
  }
  const std::size_t hash = hash_of_key(key);
  const std::size_t place = position(key, hash);
  if (place != SIZE_MAX) {
    entries_[place].value = std::move(value);
    return;
  }
  entries_.push_back({key, std::move(value), hash});
  if (entries_.size() * 2 > index_.size()) return make_index();
  const std::size_t mask = index_.size() - 1;
  std::size_t slot = hash & mask;
  while (index_[slot] != 0) slot = (slot + 1) & mask;
  index_[slot] = static_cast<std::uint32_t>(entries_.size());
}

bool DictValue::erase(const Value& key) {
  if (!may_be_key(key)) return false;
  const std::size_t place = position(key, hash_of_key(key));
  if (place == SIZE_MAX) return false;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(place));
  make_index();
  return true;
}

void DictValue::clear() {
  entries_.clear();
  index_.clear();
}

Ref<DictValue> DictValue::copy() const {
  auto result = make_counted<DictValue>(key_type, value_type);
  result->entries_ = entries_;
  result->index_ = index_;
  return result;
}

// --- comparisons, copies and types ---

namespace {

class Comparison {
 public:
  std::optional<bool> compare(const Value& a, const Value& b) {
    const bool equal = are_equal(a, b);
    return too_much_ ? std::nullopt : std::optional(equal);
  }

 private:
  static constexpr std::size_t kMaxSteps = std::size_t{1} << 24;

  bool are_equal(const Value& a, const Value& b) {
    if (a.kind() != b.kind() || too_much_) return false;
    if (++steps_ > kMaxSteps || depth_ == kMaxValueDepth) {
      too_much_ = true;
      return false;
    }
    switch (a.kind()) {
      case ValueTag::kNone:
        return true;
      case ValueTag::kUninitialized:
        return false;
      case ValueTag::kBool:
        return a.to_bool() == b.to_bool();
      case ValueTag::kInt:
        return a.to_int() == b.to_int();
      case ValueTag::kDouble:
        return a.to_double() == b.to_double();
      case ValueTag::kComplex:
        return a.to_complex() == b.to_complex();
      case ValueTag::kString:
        return a.to_string() == b.to_string();
      case ValueTag::kDevice:
        return a.to_device() == b.to_device();
      case ValueTag::kList:
        return a.identity() == b.identity() || (*a.to_list().element_type == *b.to_list().element_type &&
                                                are_all_equal(a.items(), b.items()));
      case ValueTag::kTuple:
        return a.identity() == b.identity() || are_all_equal(a.items(), b.items());
      case ValueTag::kDict:
        return a.identity() == b.identity() || are_equal_dicts(a.to_dict(), b.to_dict());
      case ValueTag::kEnum:
        return *a.to_enum().type == *b.to_enum().type && a.to_enum().name == b.to_enum().name;
      case ValueTag::kTensor:
      case ValueTag::kObject:
      case ValueTag::kFunction:
      case ValueTag::kHandle:
        return a.identity() == b.identity();
    }
    return false;
  }

  bool are_all_equal(const std::vector<Value>& a, const std::vector<Value>& b) {
    if (a.size() != b.size()) return false;
    ++depth_;
    bool equal = true;
    for (std::size_t i = 0; i < a.size() && equal; ++i) equal = are_equal(a[i], b[i]);
    --depth_;
    return equal;
  }

  // Ignores the order of the entries.
  bool are_equal_dicts(const DictValue& a, const DictValue& b) {
    if (a.size() != b.size() || !(*a.key_type == *b.key_type) || !(*a.value_type == *b.value_type))
      return false;
    ++depth_;
    bool equal = true;
    for (const DictValue::Entry& entry : a.entries()) {
      const Value* other = b.find(entry.key);
      equal = other != nullptr && are_equal(entry.value, *other);
      if (!equal) break;
    }
    --depth_;
    return equal;
  }

  std::size_t steps_ = 0;
  std::size_t depth_ = 0;
  bool too_much_ = false;
};

class DeepCopy {
 public:
  std::optional<Value> copy_whole(const Value& value) {
    Value result = copy(value);
    return too_deep_ ? std::nullopt : std::optional(std::move(result));
  }

 private:
  Value copy(const Value& value) {
    const bool is_composed = value.is_list() || value.is_dict() || value.is_tuple() || value.is_object();
    if (!is_composed || too_deep_) return value;
    if (const auto known = copies_.find(value.identity()); known != copies_.end()) return known->second;
    if (depth_ == kMaxValueDepth) {
      too_deep_ = true;
      return value;
    }
    ++depth_;
    Value result = copy_composed(value);
    --depth_;
    return result;
  }

  // Containers that may hold themselves are registered before their parts are copied.
  Value copy_composed(const Value& value) {
    if (value.is_list()) {
      auto list = make_counted<ListValue>(value.to_list().element_type);
      copies_.emplace(value.identity(), list);
      for (const Value& item : value.items()) list->items.push_back(copy(item));
      return list;
    }
    if (value.is_dict()) {
      const DictValue& old = value.to_dict();
      auto dict = make_counted<DictValue>(old.key_type, old.value_type);
      copies_.emplace(value.identity(), dict);
      for (const DictValue::Entry& entry : old.entries()) dict->set(entry.key, copy(entry.value));
      return dict;
    }
    if (value.is_object()) {
      const ObjectValue& old = value.to_object();
      auto object = make_counted<ObjectValue>(old.type, old.slots.size());
      copies_.emplace(value.identity(), object);
      for (std::size_t i = 0; i < old.slots.size(); ++i) object->slots[i] = copy(old.slots[i]);
      object->state = copy(old.state);
      return object;
    }
    std::vector<Value> items;
    items.reserve(value.items().size());
    for (const Value& item : value.items()) items.push_back(copy(item));
    Value tuple = make_tuple(std::move(items), value.to_tuple().type);
    copies_.emplace(value.identity(), tuple);
    return tuple;
  }

  std::unordered_map<const void*, Value> copies_;
  std::size_t depth_ = 0;
  bool too_deep_ = false;
};

TypePtr type_at(const Value& value, std::size_t depth) {
  switch (value.kind()) {
    case ValueTag::kNone:
      return none_type();
    case ValueTag::kBool:
      return bool_type();
    case ValueTag::kInt:
      return int_type();
    case ValueTag::kDouble:
      return float_type();
    case ValueTag::kComplex:
      return complex_type();
    case ValueTag::kString:
      return string_type();
    case ValueTag::kTensor:
      return tensor_type();
    case ValueTag::kDevice:
      return device_type();
    case ValueTag::kList:
      return list_type(value.to_list().element_type);
    case ValueTag::kDict:
      return dict_type(value.to_dict().key_type, value.to_dict().value_type);
    case ValueTag::kTuple: {
      // Types cannot be nested deeper.
      constexpr std::size_t kMaxTypeDepth = 30;
      if (depth == kMaxTypeDepth) return any_type();
      std::vector<TypePtr> types;
      for (const Value& item : value.items()) types.push_back(type_at(item, depth + 1));
      return tuple_type(std::move(types));
    }
    case ValueTag::kObject:
      return value.to_object().type;
    case ValueTag::kEnum:
      return value.to_enum().type;
    case ValueTag::kFunction:
      return value.to_function().type;
    case ValueTag::kHandle:
      return value.to_handle().type();
    case ValueTag::kUninitialized:
      return any_type();
  }
  return any_type();
}

}  // namespace

std::optional<bool> find_equal(const Value& a, const Value& b) { return Comparison{}.compare(a, b); }

std::optional<Value> find_deep_copy(const Value& value) { return DeepCopy{}.copy_whole(value); }

TypePtr dynamic_type(const Value& value) { return type_at(value, 0); }

}  // namespace fxtrace::internal::torchscript
