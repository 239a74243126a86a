#include "torchscript/objects/pickle_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/error.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::torchscript {
namespace {

// The least memory that values take, in bytes, overhead of the allocator included.
constexpr std::size_t kSizeOfValue = 16, kSizeOfShared = 64, kSizeOfContainer = 112;
// The memory for an entry of a table that grows by doubling.
constexpr std::size_t kSizeOfEntry = 48, kSizeOfLevel = 16;
constexpr std::size_t kMaxValues = 16'000'000;
// A module takes two levels: the object and the dict of its attributes.
constexpr std::uint32_t kMaxNesting = 1'000;

}  // namespace

void PickleValues::damaged(const char* why) {
  throw input_error(std::string("its pickle is damaged: ") + why);
}

void PickleValues::spend(std::size_t bytes) {
  if (bytes > most_memory_ - memory_) {
    throw input_error("its pickle makes values of more than " + std::to_string(most_memory_ >> 20U) + " MB");
  }
  memory_ += bytes;
}

Value PickleValues::run() {
  while (!is_stopped_) {
    if (at_ == bytes_.size()) damaged("it has no end");
    deepest_ = 0;
    step();
  }
  if (stack_.size() != 1 || !marks_.empty() || stack_.back().value.is_handle())
    damaged("it does not end with one value");
  return std::move(stack_.back().value);
}

// --- nesting ---

void PickleValues::push(Value value) {
  spend(kSizeOfEntry);
  count_value();
  const bool is_flat = deepest_ == 0 && !value.is_list() && !value.is_dict() && !value.is_handle();
  stack_.push_back({std::move(value), is_flat ? kFlat : level_above()});
}

PickleValues::Entry& PickleValues::top() {
  if (!has_top()) missing();
  return stack_.back();
}

Value PickleValues::taken(Entry& entry) {
  deepest_ = std::max(deepest_, levels_[entry.level].nesting + 1);
  return std::move(entry.value);
}

void PickleValues::check_nesting(std::uint32_t nesting) {
  if (nesting > kMaxNesting)
    throw input_error("its pickle nests values more than " + std::to_string(kMaxNesting) + " deep");
}

std::uint32_t PickleValues::level_above() {
  check_nesting(deepest_);
  spend(kSizeOfLevel);
  levels_.push_back({deepest_});
  return static_cast<std::uint32_t>(levels_.size() - 1);
}

// A value that was fetched from the memo must not change, as the nesting of values that contain it would be
// wrong.  Only cycles need that.
void PickleValues::deepen() {
  Level& level = levels_[top().level];
  if (level.is_shared) throw input_error("its pickle has a value that contains itself");
  level.nesting = std::max(level.nesting, deepest_);
  check_nesting(level.nesting);
}

void PickleValues::count_value() {
  if (count_++ == kMaxValues)
    throw input_error("its pickle has more than " + std::to_string(kMaxValues) + " values");
}

// --- values ---

Value PickleValues::data(Entry& entry) {
  Value value = taken(entry);
  if (value.is_handle()) damaged("expected a value, got a name");
  return value;
}

std::vector<Value> PickleValues::data(std::span<Entry> entries) {
  std::vector<Value> values(entries.size());
  std::ranges::transform(entries, values.begin(), [&](Entry& entry) { return data(entry); });
  return values;
}

void PickleValues::push_long(std::uint64_t size) {
  if (size != 8) damaged("a long integer does not have 8 bytes");
  push(signed_number(8));
}

void PickleValues::push_real(std::string_view big_endian) {
  std::uint64_t bits = 0;
  for (const char c : big_endian) bits = (bits << 8U) | static_cast<unsigned char>(c);
  push(std::bit_cast<double>(bits));
}

void PickleValues::push_text(std::string_view text) {
  spend(kSizeOfShared + text.size());
  push(text);
}

void PickleValues::push_global(std::string_view module, std::string_view name) {
  spend(kSizeOfShared);
  push(host_.global(std::string(module), std::string(name)));
}

void PickleValues::push_tuple(std::span<Entry> entries) {
  std::vector<Value> items(entries.size());
  for (std::size_t i = items.size(); i > 0; --i) {
    items[i - 1] = taken(entries[i - 1]);
    if (!items[i - 1].is_handle()) continue;
    auto stands_for = host_.in_tuple(items[i - 1]);
    if (!stands_for) damaged("expected a value, got a name");
    items[i - 1] = *std::move(stands_for);
  }
  spend(kSizeOfContainer + kSizeOfValue * items.size());
  push(make_tuple(std::move(items)));
}

void PickleValues::push_list(std::span<Entry> entries) {
  std::vector<Value> items = data(entries);
  spend(kSizeOfContainer + kSizeOfValue * items.size());
  push(make_list(any_type(), std::move(items)));
}

void PickleValues::push_dict(std::span<Entry> entries) {
  const std::vector<Value> flat = data(entries);
  spend(kSizeOfContainer);
  push(make_counted<DictValue>(any_type(), any_type()));
  set_items(flat);
}

void PickleValues::append(std::span<Entry> entries) {
  std::vector<Value> items = data(entries);
  if (!top().value.is_list()) damaged("it appends to a value that is not a list");
  spend(kSizeOfValue * items.size());
  deepen();
  auto& list = top().value.to_list().items;
  list.insert(list.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
}

void PickleValues::set_items(const std::vector<Value>& flat) {
  if (!top().value.is_dict() || flat.size() % 2 != 0) damaged("it sets items of a value that is not a dict");
  spend(4 * kSizeOfValue * flat.size());
  deepen();
  DictValue& dict = top().value.to_dict();
  for (std::size_t i = 0; i < flat.size(); i += 2) {
    if (!DictValue::may_be_key(flat[i])) damaged("a value cannot be the key of a dict");
    dict.set(flat[i], flat[i + 1]);
  }
}

// Leaves the class on the stack, until build() replaces it by the object.
void PickleValues::make_object(Entry arguments) {
  if (!taken(arguments).is_tuple()) damaged("the arguments of a class are not a tuple");
  if (!top().value.is_handle()) damaged("an object is made from a value that is not a class");
  count_value();
  deepest_ = std::max(deepest_, levels_[top().level].nesting + 1);
  top().level = level_above();
}

void PickleValues::call(Entry callable, Entry arguments) {
  const Value values = data(arguments);
  const Value function = taken(callable);
  if (!function.is_handle()) damaged("it calls a value that is not a function");
  push(host_.call(function.to_handle(), values));
  levels_[top().level].is_shared = true;  // it may be one of the arguments
}

void PickleValues::build(Entry state) {
  const Value values = data(state);
  if (!top().value.is_handle()) damaged("it sets the state of a value that is not an object");
  deepen();
  spend(kSizeOfValue);
  top().value = host_.build(top().value.to_handle(), values);
}

void PickleValues::push_persistent(Entry id) {
  const Value name = data(id);
  if (!name.is_tuple()) damaged("the id of a storage is not a tuple");
  push(host_.persistent(name.to_tuple()));
}

// --- the memo ---

void PickleValues::put(std::uint64_t index) {
  // Every entry of the memo takes an opcode of the pickle, so an index cannot exceed the pickle's size.
  if (index > bytes_.size()) throw input_error("its pickle has a memo index beyond its size");
  if (memo_.size() <= index) {
    const auto size = static_cast<std::size_t>(index) + 1;
    spend((size - memo_.size()) * kSizeOfEntry);
    memo_.resize(size, Entry{{}, kNotKept});
  }
  memo_[static_cast<std::size_t>(index)] = top();
}

void PickleValues::get(std::uint64_t index) {
  if (index >= memo_.size() || memo_[static_cast<std::size_t>(index)].level == kNotKept)
    throw input_error("its pickle fetches a value that it did not keep");
  const Entry& entry = memo_[static_cast<std::size_t>(index)];
  spend(kSizeOfEntry);
  levels_[entry.level].is_shared = true;
  stack_.push_back(entry);
}

// --- limits and errors ---

void PickleValues::charge(std::size_t count) { spend(kSizeOfValue * count); }

void PickleValues::other(unsigned char opcode) {
  throw input_error("its pickle has opcode " + std::to_string(opcode) + ", which TorchScript does not write");
}

PickleValues::Entry PickleValues::missing() { damaged("a value is missing"); }
void PickleValues::end_in_value() { throw input_error("its pickle ends in the middle of a value"); }
void PickleValues::end_in_line() { damaged("it ends in the middle of a name"); }
void PickleValues::no_mark() { throw input_error("its pickle closes a mark that it did not set"); }

namespace {

// LibTorch's names of dtypes, in their order.
constexpr std::string_view kNames =
    "Byte Char Short Int Long Half Float Double ComplexHalf ComplexFloat ComplexDouble Bool QInt8 QUInt8 "
    "QInt32 BFloat16 QUInt4x2 QUInt2x4 Bits1x8 Bits2x4 Bits4x2 Bits8 Bits16 Float8_e5m2 Float8_e4m3fn "
    "Float8_e5m2fnuz Float8_e4m3fnuz UInt16 UInt32 UInt64 UInt1 UInt2 UInt3 UInt4 UInt5 UInt6 UInt7 Int1 "
    "Int2 Int3 Int4 Int5 Int6 Int7 Float8_e8m0fnu Float4_e2m1fn_x2";

const Value& part(const TupleValue& tuple, std::size_t i) {
  if (i >= tuple.items.size()) pickle_is_damaged("a tensor has too few arguments");
  return tuple.items[i];
}
std::int64_t int_part(const TupleValue& tuple, std::size_t i) {
  if (!part(tuple, i).is_int()) pickle_is_damaged("an argument of a tensor is not an int");
  return tuple.items[i].to_int();
}
bool bool_part(const TupleValue& tuple, std::size_t i) {
  if (!part(tuple, i).is_bool()) pickle_is_damaged("an argument of a tensor is not a bool");
  return tuple.items[i].to_bool();
}
const std::string& text_part(const TupleValue& tuple, std::size_t i) {
  if (!part(tuple, i).is_string()) pickle_is_damaged("an argument of a tensor is not a str");
  return tuple.items[i].to_string();
}
TensorRef tensor_part(const TupleValue& tuple, std::size_t i) {
  if (!part(tuple, i).is_tensor()) pickle_is_damaged("an argument of a tensor is not a tensor");
  return TensorRef(&tuple.items[i].to_tensor());
}
std::vector<std::int64_t> sizes_part(const TupleValue& tuple, std::size_t i) {
  if (!part(tuple, i).is_tuple()) pickle_is_damaged("the sizes of a tensor are not a tuple");
  std::vector<std::int64_t> sizes;
  for (const Value& size : tuple.items[i].items()) {
    if (!size.is_int() || size.to_int() < 0)
      pickle_is_damaged("a size of a tensor is not an int of at least 0");
    sizes.push_back(size.to_int());
  }
  return sizes;
}

// Returns whether all elements are among the bytes of the storage.
bool fits(const TensorValue& tensor) {
  if (tensor.offset < 0) return false;
  std::int64_t last = tensor.offset;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    std::int64_t way = 0;
    if (tensor.sizes[i] == 0) return true;
    if (__builtin_mul_overflow(tensor.sizes[i] - 1, tensor.strides[i], &way) ||
        __builtin_add_overflow(last, way, &last))
      return false;
  }
  const std::uint64_t bytes = tensor.storage ? tensor.storage->bytes : 0;
  const auto packed = static_cast<std::uint64_t>(last / elements_in_byte(tensor.dtype));
  return packed < bytes / static_cast<std::uint64_t>(item_size(tensor.dtype));
}

// Keeps scales and zero points too, which distinguish one weight from another.
void set_quantization(TensorValue& tensor, const Value& value) {
  enum Scheme { kPerTensor = 0, kPerChannel = 1, kPerChannelFloat = 4 };
  if (!value.is_tuple()) pickle_is_damaged("the quantization of a tensor is not a tuple");
  const TupleValue& tuple = value.to_tuple();
  switch (int_part(tuple, 0)) {
    case kPerTensor:
      if (!part(tuple, 1).is_double()) pickle_is_damaged("the scale of a tensor is not a float");
      tensor.quantization = {.scale = part(tuple, 1).to_double(), .zero_point = int_part(tuple, 2)};
      return;
    case kPerChannel:
    case kPerChannelFloat:
      tensor.scales_and_zeros = {tensor_part(tuple, 1), tensor_part(tuple, 2)};
      tensor.quantization = {.scheme = int_part(tuple, 0), .axis = int_part(tuple, 3)};
      return;
    default:
      throw input_error("its pickle has a tensor of a quantization that LibTorch does not know");
  }
}

// Sets the flags from a dict such as {"conj": True, "neg": True}.
void set_bits(TensorValue& tensor, const Value& value) {
  if (!value.is_dict()) pickle_is_damaged("the flags of a tensor are not a dict");
  const auto has = [&](const char* name) {
    const Value* bit = value.to_dict().find(name);
    return bit != nullptr && bit->is_bool() && bit->to_bool();
  };
  tensor.is_conjugated = has("conj");
  tensor.is_negated = has("neg");
}

}  // namespace

void pickle_is_damaged(const std::string& why) { throw input_error("its pickle is damaged: " + why); }

std::optional<ScalarType> find_storage_type(std::string_view name) {
  constexpr std::string_view kEnd = "Storage";
  if (!name.ends_with(kEnd)) return std::nullopt;
  const auto place = find_word(kNames, name.substr(0, name.size() - kEnd.size()));
  return place ? std::optional(static_cast<ScalarType>(*place)) : std::nullopt;
}

TensorRef PickleTensors::storage(const TupleValue& id) {
  if (text_part(id, 0) != "storage") pickle_is_damaged("a persistent id does not name a storage");
  const auto dtype = find_scalar_type(int_part(id, 1));
  if (!dtype) pickle_is_damaged("the dtype of a storage is not known");
  const std::string& key = text_part(id, 2);
  const std::string& saved_on = text_part(id, 3);
  const std::int64_t count = int_part(id, 4);
  const DeviceText device = read_saved_device(saved_on);
  if (!device.device)
    throw input_error("its storage '" + printable(key) + "' has an invalid device: " + device.why);
  std::uint64_t claimed = 0;
  if (count < 0 || __builtin_mul_overflow(static_cast<std::uint64_t>(count),
                                          static_cast<std::uint64_t>(item_size(*dtype)), &claimed))
    pickle_is_damaged("the size of a storage is invalid");
  const bool is_meta = device.device->type == "meta";

  auto& known = storages_[key];
  if (known != nullptr) {
    if (known->device != *device.device)
      throw input_error("its storage '" + printable(key) + "' is on two devices");
    if (is_meta && known->bytes != claimed)
      throw input_error("its storage '" + printable(key) + "' has two sizes");
  } else {
    const std::string record = folder_ + key;
    const bool is_there = zip_.contains(record);
    if (!is_there && count > 0 && !is_meta)
      throw input_error("it has no record for storage '" + printable(key) + "'");
    auto fresh = std::make_shared<TensorStorage>();
    if (is_there) fresh->record = record.substr(prefix_.size());
    fresh->device = *device.device;
    fresh->bytes = is_meta ? claimed : zip_.size(record);
    known = std::move(fresh);
  }
  auto tensor = make_counted<TensorValue>();
  tensor->dtype = *dtype;
  tensor->sizes = {0};
  tensor->strides = {1};
  tensor->storage = known;
  return tensor;
}

TensorRef PickleTensors::rebuild(const TupleValue& arguments, bool is_quantized) {
  constexpr std::size_t kWithBits = 7;
  const TensorRef storage = tensor_part(arguments, 0);
  if (storage->layout != TensorLayout::kStrided)
    pickle_is_damaged("the storage of a tensor is a sparse tensor");
  auto tensor = make_counted<TensorValue>();
  tensor->dtype = storage->dtype;
  tensor->storage = storage->storage;
  tensor->offset = int_part(arguments, 1);
  tensor->sizes = sizes_part(arguments, 2);
  tensor->strides = sizes_part(arguments, 3);
  if (tensor->sizes.size() != tensor->strides.size())
    pickle_is_damaged("the sizes and strides of a tensor have different lengths");
  std::size_t next = 4;
  if (is_quantized != internal::is_quantized(tensor->dtype))
    pickle_is_damaged("the dtype of a tensor does not fit the function that rebuilds it");
  if (is_quantized) set_quantization(*tensor, part(arguments, next++));
  tensor->requires_grad = bool_part(arguments, next);
  if (!is_quantized && arguments.items.size() == kWithBits) set_bits(*tensor, arguments.items.back());
  if (!fits(*tensor)) {
    throw input_error("a tensor of its pickle reaches beyond its record" +
                      (tensor->storage ? " '" + printable(tensor->storage->record) + "'" : std::string()));
  }
  return tensor;
}

TensorRef PickleTensors::rebuild_parameter(const TupleValue& arguments) {
  const TensorRef data = tensor_part(arguments, 0);
  const bool requires_grad = bool_part(arguments, 1);
  if (data->requires_grad == requires_grad) return data;
  auto tensor = make_counted<TensorValue>();
  tensor->dtype = data->dtype;
  tensor->layout = data->layout;
  tensor->requires_grad = requires_grad;
  tensor->is_conjugated = data->is_conjugated;
  tensor->is_negated = data->is_negated;
  tensor->sizes = data->sizes;
  tensor->strides = data->strides;
  tensor->offset = data->offset;
  tensor->storage = data->storage;
  tensor->parts = data->parts;
  tensor->quantization = data->quantization;
  tensor->scales_and_zeros = data->scales_and_zeros;
  return tensor;
}

TensorRef PickleTensors::rebuild_sparse(const TupleValue& arguments) {
  const std::int64_t layout = int_part(arguments, 0);
  auto tensor = make_counted<TensorValue>();
  constexpr std::array kLayouts{TensorLayout::kSparseCoo, TensorLayout::kSparseCsr, TensorLayout::kSparseCsc,
                                TensorLayout::kSparseBsr, TensorLayout::kSparseBsc};
  const auto* const known =
      std::ranges::find(kLayouts, layout, [](TensorLayout one) { return static_cast<std::int64_t>(one); });
  if (known == kLayouts.end())
    throw input_error("its pickle has a sparse tensor of a layout that LibTorch does not read");
  tensor->layout = *known;
  const std::size_t count = tensor->layout == TensorLayout::kSparseCoo ? 2 : 3;
  tensor->sizes = sizes_part(arguments, 1);
  tensor->requires_grad = bool_part(arguments, 2);
  for (std::size_t i = 0; i < count; ++i) tensor->parts.push_back(tensor_part(arguments, 3 + i));
  tensor->dtype = tensor->parts.back()->dtype;
  return tensor;
}

}  // namespace fxtrace::internal::torchscript
