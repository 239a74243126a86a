#include "script/pickle_values.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "archive/little_endian.h"
#include "support/error.h"

namespace fxtrace::script {
namespace {

// What values take at least, in bytes: what the allocator adds is in it.
constexpr std::size_t kSizeOfValue = 16, kSizeOfShared = 64, kSizeOfContainer = 112;
// An entry of a table that grows by doubling.
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
  while (!stopped_) {
    if (at_ == bytes_.size()) damaged("it has no end");
    step(static_cast<unsigned char>(bytes_[at_++]));
  }
  if (stack_.size() != 1 || !marks_.empty() || stack_.back().value.is_handle())
    damaged("it does not end with one value");
  return std::move(stack_.back().value);
}

// --- bytes ---

std::string_view PickleValues::text(std::uint64_t size) {
  if (size > bytes_.size() - at_) throw input_error("its pickle ends in the middle of a value");
  const std::string_view part = bytes_.substr(at_, static_cast<std::size_t>(size));
  at_ += part.size();
  return part;
}

std::string_view PickleValues::line() {
  const auto end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) damaged("it ends in the middle of a name");
  const std::string_view part = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return part;
}

std::uint64_t PickleValues::number(std::size_t size) {
  return little_endian(text(size), 0, static_cast<int>(size));
}

std::int64_t PickleValues::signed_number(std::size_t size) {
  const auto unused = static_cast<unsigned>(64 - 8 * size);
  return static_cast<std::int64_t>(number(size) << unused) >> unused;
}

// In big-endian order.
double PickleValues::real_number() {
  constexpr std::size_t kSize = 8;
  std::uint64_t result = 0;
  for (const char c : text(kSize)) result = (result << kSize) | static_cast<unsigned char>(c);
  return std::bit_cast<double>(result);
}

// --- the stack ---

void PickleValues::push(Value value) {
  spend(kSizeOfEntry);
  count_value();
  const bool is_flat = deepest_ == 0 && !value.is_list() && !value.is_dict() && !value.is_handle();
  stack_.push_back({std::move(value), is_flat ? kFlat : level_above()});
}

PickleValues::Entry& PickleValues::top() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) damaged("a value is missing");
  return stack_.back();
}

Value PickleValues::pop() {
  Entry entry = std::move(top());
  stack_.pop_back();
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

// Whoever fetched the top has a nesting that would no longer be true; only cycles need that.
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

Value PickleValues::pop_data() {
  Value value = pop();
  if (value.is_handle()) damaged("a name stands where a value is expected");
  return value;
}

Value PickleValues::part_of_tuple(Value value) {
  if (!value.is_handle()) return value;
  auto stands_for = host_.in_tuple(value);
  if (!stands_for) damaged("a name stands where a value is expected");
  return *std::move(stands_for);
}

std::vector<Value> PickleValues::pop_to_mark(bool for_tuple) {
  if (marks_.empty()) throw input_error("its pickle closes what it did not open");
  spend(kSizeOfValue * (stack_.size() - marks_.back()));
  std::vector<Value> values(stack_.size() - marks_.back());
  for (std::size_t i = values.size(); i > 0; --i)
    values[i - 1] = for_tuple ? part_of_tuple(pop()) : pop_data();
  marks_.pop_back();
  return values;
}

void PickleValues::push_tuple(std::size_t count) {
  std::vector<Value> items(count);
  for (std::size_t i = count; i > 0; --i) items[i - 1] = part_of_tuple(pop());
  spend(kSizeOfContainer + kSizeOfValue * count);
  push(make_tuple(std::move(items)));
}

void PickleValues::append(std::vector<Value> items) {
  if (!top().value.is_list()) damaged("it appends to what is no list");
  spend(kSizeOfValue * items.size());
  deepen();
  auto& list = top().value.to_list().items;
  list.insert(list.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
}

void PickleValues::set_items(const std::vector<Value>& flat) {
  if (!top().value.is_dict() || flat.size() % 2 != 0) damaged("it sets items of what is no dict");
  spend(4 * kSizeOfValue * flat.size());
  deepen();
  DictValue& dict = top().value.to_dict();
  for (std::size_t i = 0; i < flat.size(); i += 2) {
    if (!DictValue::may_be_key(flat[i])) damaged("the key of a dict is none");
    dict.set(flat[i], flat[i + 1]);
  }
}

void PickleValues::put(std::uint64_t index) {
  // Every entry of the memo takes an opcode with its operand.
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

void PickleValues::step(unsigned char opcode) {
  deepest_ = 0;
  switch (opcode) {
    case 0x80:  // PROTO
      text(1);
      return;
    case '.':
      stopped_ = true;
      return;
    case '(':
      spend(kSizeOfValue);
      marks_.push_back(stack_.size());
      return;
    case 'N':
      return push({});
    case 0x88:
    case 0x89:  // NEWTRUE, NEWFALSE
      return push(opcode == 0x88);
    case 'K':
      return push(number(1));
    case 'M':
      return push(number(2));
    case 'J':
      return push(signed_number(4));
    case 0x8a:  // LONG1
      if (number(1) != 8) damaged("an integer has not eight bytes");
      return push(signed_number(8));
    case 'G':
      return push(real_number());
    case 'X':
    case 0x8d: {  // BINUNICODE, BINUNICODE8
      const std::string_view value = text(number(opcode == 'X' ? 4 : 8));
      spend(kSizeOfShared + value.size());
      return push(value);
    }
    case ')':
      return push_tuple(0);
    case 0x85:
    case 0x86:
    case 0x87:  // TUPLE1..3
      return push_tuple(opcode - 0x84U);
    case 't': {
      std::vector<Value> items = pop_to_mark(true);
      spend(kSizeOfContainer + kSizeOfValue * items.size());
      return push(make_tuple(std::move(items)));
    }
    case ']':
      spend(kSizeOfContainer);
      return push(make_list(any_type()));
    case 'l': {
      std::vector<Value> items = pop_to_mark();
      spend(kSizeOfContainer + kSizeOfValue * items.size());
      return push(make_list(any_type(), std::move(items)));
    }
    case 'a': {
      std::vector<Value> items;
      items.push_back(pop_data());
      return append(std::move(items));
    }
    case 'e':
      return append(pop_to_mark());
    case '}':
    case 'd': {
      const std::vector<Value> flat = opcode == 'd' ? pop_to_mark() : std::vector<Value>();
      spend(kSizeOfContainer);
      push(make_counted<DictValue>(any_type(), any_type()));
      return set_items(flat);
    }
    case 's': {
      std::vector<Value> flat(2);
      flat[1] = pop_data();
      flat[0] = pop_data();
      return set_items(flat);
    }
    case 'u':
      return set_items(pop_to_mark());
    case 'c': {
      const std::string module(line());
      const std::string name(line());
      spend(kSizeOfShared);
      return push(host_.global(module, name));
    }
    case 0x81:  // NEWOBJ: the class stays until its state is there
      if (!pop().is_tuple()) damaged("the arguments of a class are no tuple");
      if (!top().value.is_handle()) damaged("what is made is of no class");
      count_value();
      deepest_ = std::max(deepest_, levels_[top().level].nesting + 1);
      top().level = level_above();
      return;
    case 'R': {
      const Value arguments = pop_data();
      const Value callable = pop();
      if (!callable.is_handle()) damaged("it calls what cannot be called");
      push(host_.call(callable.to_handle(), arguments));
      levels_[top().level].is_shared = true;  // it may be one of the arguments
      return;
    }
    case 'b': {
      const Value state = pop_data();
      if (!top().value.is_handle()) damaged("it sets the state of what is no object");
      deepen();
      spend(kSizeOfValue);
      top().value = host_.build(top().value.to_handle(), state);
      return;
    }
    case 'Q': {
      const Value id = pop_data();
      if (!id.is_tuple()) damaged("the name of a storage is no tuple");
      return push(host_.persistent(id.to_tuple()));
    }
    case 'q':
      return put(number(1));
    case 'r':
      return put(number(4));
    case 'h':
      return get(number(1));
    case 'j':
      return get(number(4));
    default:
      throw input_error("its pickle has opcode " + std::to_string(opcode) +
                        ", which TorchScript does not write");
  }
}

}  // namespace fxtrace::script
