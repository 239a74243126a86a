#include "torchscript/objects/pickle_values.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "support/error.h"

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

}  // namespace fxtrace::internal::torchscript
