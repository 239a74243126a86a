#include "archive/pickle_machine.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/identifier.h"

namespace fxtrace {

PickleMachine::End PickleMachine::run(std::size_t max_opcodes) {
  max_opcodes_ = max_opcodes;
  for (std::size_t count = 0; at_ < bytes_.size(); ++count) {
    if (count == max_opcodes) return End::kLimit;
    const auto opcode = static_cast<unsigned char>(bytes_[at_++]);
    if (opcode == '.') {
      stopped_ = true;
      return End::kStop;
    }
    const Step step = execute(opcode);
    if (step != Step::kDone) return step == Step::kUnknown ? End::kUnknown : End::kTruncated;
  }
  return End::kTruncated;
}

std::optional<PickleMachine::Id> PickleMachine::find_result() const {
  if (stack_.empty()) return std::nullopt;
  const Id result = stopped_ ? stack_.back() : stack_.front();
  if (result == kMark) return std::nullopt;
  return result;
}

bool PickleMachine::is_global(Id id, std::string_view module, std::string_view name) const {
  if (values_[id].kind != Kind::kGlobal) return false;
  const auto names = parts(id);
  return values_[names[0]].text == module && values_[names[1]].text == name;
}

std::string PickleMachine::global_name(Id id, std::size_t max_size) const {
  if (values_[id].kind != Kind::kGlobal) return {};
  const auto names = parts(id);
  return std::string(values_[names[0]].text.substr(0, max_size)) + "." +
         std::string(values_[names[1]].text.substr(0, max_size));
}

// --- values ---

PickleMachine::Id PickleMachine::make(Kind kind) {
  values_.emplace_back().kind = kind;
  return static_cast<Id>(values_.size() - 1);
}

void PickleMachine::push_string(std::string_view text) {
  push(Kind::kString);
  values_.back().text = text;
}

void PickleMachine::push_parts(Kind kind, std::span<const Id> parts) {
  push(kind);
  values_.back().first_part = static_cast<std::uint32_t>(parts_.size());
  values_.back().part_count = static_cast<std::uint32_t>(parts.size());
  parts_.insert(parts_.end(), parts.begin(), parts.end());
}

void PickleMachine::call(Id callable, Id arguments) {
  if (watcher_ != nullptr) watcher_->on_call(callable, arguments);
  push_call(callable, arguments);
}

// Of the value on top.
void PickleMachine::fill(Kind expected) {
  if (watcher_ != nullptr) watcher_->on_fill(find_top().value_or(kNothing), expected);
}

void PickleMachine::push_call(Id callable, Id arguments) {
  if (is_global(callable, "collections", "OrderedDict") ||
      is_global(callable, "collections", "defaultdict")) {
    return push(Kind::kDict);
  }
  push_parts(Kind::kCall, std::array{callable, arguments});
}

PickleMachine::Id PickleMachine::pop() {
  if (stack_.empty()) return kNothing;
  const Id value = stack_.back();
  stack_.pop_back();
  if (value != kMark) return value;
  --marks_;
  return kNothing;
}

// Everything above the last mark, which goes too.
std::vector<PickleMachine::Id> PickleMachine::pop_to_mark() {
  auto from = stack_.end();
  while (from != stack_.begin() && *(from - 1) != kMark) --from;
  std::vector<Id> values(from, stack_.end());
  if (from != stack_.begin()) {
    --from;
    --marks_;
  }
  stack_.erase(from, stack_.end());
  return values;
}

std::optional<PickleMachine::Id> PickleMachine::find_top() const {
  if (stack_.empty() || stack_.back() == kMark) return std::nullopt;
  return stack_.back();
}

void PickleMachine::set_items(Id target, std::span<const Id> flat) {
  if (flat.size() < 2) return;
  if (values_[target].items == 0) {
    values_[target].items = static_cast<std::uint32_t>(items_.size());
    items_.emplace_back();
  }
  auto& items = items_[values_[target].items];
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) items.emplace_back(flat[i], flat[i + 1]);
}

PickleMachine::Step PickleMachine::put(std::uint64_t index) {
  // No writer leaves out so many that there are more than opcodes.
  const auto top = find_top();
  if (!top || index >= max_opcodes_) return Step::kUnknown;
  const auto place = static_cast<std::size_t>(index);
  if (memo_.size() <= place) memo_.resize(place + 1, kUnset);
  if (memo_[place] == kUnset) ++memo_count_;
  memo_[place] = *top;
  return Step::kDone;
}

PickleMachine::Step PickleMachine::get(std::uint64_t index) {
  if (index >= memo_.size() || memo_[static_cast<std::size_t>(index)] == kUnset) return Step::kUnknown;
  stack_.push_back(memo_[static_cast<std::size_t>(index)]);
  return Step::kDone;
}

// --- bytes ---

std::uint64_t PickleMachine::number(std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i > 0; --i) {
    value = (value << 8) | static_cast<unsigned char>(bytes_[at_ + i - 1]);
  }
  at_ += size;
  return value;
}

std::optional<std::string_view> PickleMachine::line() {
  const std::size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return text;
}

PickleMachine::Step PickleMachine::push_integer(std::size_t size, bool is_signed) {
  if (!has(size)) return Step::kTruncated;
  if (size > 8) return push_other(size);
  std::uint64_t bits = number(size);
  const auto used = static_cast<unsigned>(8 * size);
  if (is_signed && size > 0 && size < 8 && (bits >> (used - 1)) != 0) bits |= ~std::uint64_t{0} << used;
  push(Kind::kInteger);
  values_.back().number = static_cast<std::int64_t>(bits);
  return Step::kDone;
}

PickleMachine::Step PickleMachine::push_counted(std::size_t length_size, Kind kind) {
  if (!has(length_size)) return Step::kTruncated;
  const std::uint64_t length = number(length_size);
  if (!has(length)) return Step::kTruncated;
  if (kind != Kind::kString) return push_other(static_cast<std::size_t>(length));
  push_string(bytes_.substr(at_, static_cast<std::size_t>(length)));
  at_ += static_cast<std::size_t>(length);
  return Step::kDone;
}

PickleMachine::Step PickleMachine::push_other(std::size_t size) {
  if (!has(size)) return Step::kTruncated;
  at_ += size;
  push(Kind::kOther);
  return Step::kDone;
}

PickleMachine::Step PickleMachine::push_line(Kind kind) {
  const auto text = line();
  if (!text) return Step::kTruncated;
  kind == Kind::kString ? push_string(*text) : push(kind);
  return Step::kDone;
}

// An integer as text: "12", "-12L"; "00" and "01" are booleans.
PickleMachine::Step PickleMachine::push_digits() {
  const auto text = line();
  if (!text) return Step::kTruncated;
  std::string_view digits = *text;
  if (digits.ends_with('L')) digits.remove_suffix(1);
  const bool is_bool = digits == "00" || digits == "01";
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_integer = !is_bool && problem == std::errc() && end == digits.data() + digits.size();
  push(is_integer ? Kind::kInteger : Kind::kOther);
  if (is_integer) values_.back().number = value;
  return Step::kDone;
}

PickleMachine::Step PickleMachine::execute(unsigned char opcode) {
  switch (opcode) {
    case 0x80:  // PROTO
      if (!has(1)) return Step::kTruncated;
      return number(1) <= 5 ? Step::kDone : Step::kUnknown;
    case 0x95:  // FRAME
      if (!has(8)) return Step::kTruncated;
      at_ += 8;
      return Step::kDone;
    case '(':
      stack_.push_back(kMark);
      ++marks_;
      return Step::kDone;
    case '0':  // POP
      pop();
      return Step::kDone;
    case '1':  // POP_MARK
      if (!has_mark()) return Step::kUnknown;
      pop_to_mark();
      return Step::kDone;
    case '2':  // DUP
      if (const auto value = find_top()) stack_.push_back(*value);
      return Step::kDone;
    case 'N':
    case 0x88:
    case 0x89:
    case 0x97:  // NONE, NEWTRUE, NEWFALSE, NEXT_BUFFER
      push(Kind::kOther);
      return Step::kDone;
    case 0x98:  // READONLY_BUFFER
      return Step::kDone;
    case '}':
      push(Kind::kDict);
      return Step::kDone;
    case ']':
      push(Kind::kList);
      return Step::kDone;
    case ')':
      push(Kind::kTuple);
      return Step::kDone;
    case 0x8f:  // EMPTY_SET
      push(Kind::kOther);
      return Step::kDone;
    case 'd': {  // DICT
      if (!has_mark()) return Step::kUnknown;
      const auto values = pop_to_mark();
      push(Kind::kDict);
      set_items(stack_.back(), values);
      return Step::kDone;
    }
    case 'l':
    case 0x91:  // LIST, FROZENSET
      if (!has_mark()) return Step::kUnknown;
      pop_to_mark();
      push(opcode == 'l' ? Kind::kList : Kind::kOther);
      return Step::kDone;
    case 't':
      if (!has_mark()) return Step::kUnknown;
      push_parts(Kind::kTuple, pop_to_mark());
      return Step::kDone;
    case 0x85:
    case 0x86:
    case 0x87: {  // TUPLE1..3
      std::array<Id, 3> values{};
      const auto count = static_cast<std::size_t>(opcode - 0x84);
      for (std::size_t i = count; i > 0; --i) values[i - 1] = pop();
      push_parts(Kind::kTuple, std::span(values).first(count));
      return Step::kDone;
    }
    case 'a':  // APPEND
      pop();
      fill(Kind::kList);
      return Step::kDone;
    case 'e':
    case 0x90:  // APPENDS, ADDITEMS
      if (!has_mark()) return Step::kUnknown;
      pop_to_mark();
      fill(opcode == 'e' ? Kind::kList : Kind::kOther);
      return Step::kDone;
    case 's': {  // SETITEM
      const Id value = pop();
      const Id key = pop();
      fill(Kind::kDict);
      if (const auto target = find_top()) set_items(*target, std::array{key, value});
      return Step::kDone;
    }
    case 'u': {  // SETITEMS
      if (!has_mark()) return Step::kUnknown;
      const auto values = pop_to_mark();
      fill(Kind::kDict);
      if (const auto target = find_top()) set_items(*target, values);
      return Step::kDone;
    }
    case 'R':
    case 0x81: {  // REDUCE, NEWOBJ
      const Id arguments = pop();
      call(pop(), arguments);
      return Step::kDone;
    }
    case 0x92: {  // NEWOBJ_EX
      pop();
      const Id arguments = pop();
      call(pop(), arguments);
      return Step::kDone;
    }
    case 'b': {  // BUILD
      const Id state = pop();
      const auto target = find_top();
      if (watcher_ != nullptr) watcher_->on_state(target.value_or(kNothing));
      if (target && values_[*target].kind == Kind::kCall) values_[*target].items = values_[state].items;
      return Step::kDone;
    }
    case 'o': {  // OBJ
      if (!has_mark()) return Step::kUnknown;
      const auto values = pop_to_mark();
      call(values.empty() ? kNothing : values.front(), kNothing);
      return Step::kDone;
    }
    case 'c':
    case 'i': {  // GLOBAL, INST
      const auto module = line();
      const auto name = module ? line() : std::nullopt;
      if (!name) return Step::kTruncated;
      if (opcode == 'i' && !has_mark()) return Step::kUnknown;
      if (opcode == 'i') pop_to_mark();
      push_string(*module);
      push_string(*name);
      const Id name_id = pop();
      const Id module_id = pop();
      push_parts(Kind::kGlobal, std::array{module_id, name_id});
      if (opcode == 'i') call(pop(), kNothing);
      return Step::kDone;
    }
    case 0x93: {  // STACK_GLOBAL
      const Id name = pop();
      const Id module = pop();
      push_parts(Kind::kGlobal, std::array{module, name});
      return Step::kDone;
    }
    case 'Q': {  // BINPERSID
      // The legacy format refers to a module's class as ("module", class, file, source).
      const Id id = pop();
      if (watcher_ != nullptr) watcher_->on_persistent(id);
      const auto id_parts = parts(id);
      if (id_parts.size() >= 2 && values_[id_parts[0]].text == "module") {
        stack_.push_back(id_parts[1]);
      } else {
        push_parts(Kind::kPersistent, std::array{id});
      }
      return Step::kDone;
    }
    case 'P':
      if (watcher_ != nullptr) watcher_->on_persistent(kNothing);
      return push_line(Kind::kOther);
    case 'F':
      return push_line(Kind::kOther);
    case 'I':
    case 'L':
      return push_digits();
    case 'S':
    case 'V':
      return push_line(Kind::kString);
    case 'g':
    case 'p': {  // GET, PUT
      const auto text = line();
      if (!text) return Step::kTruncated;
      // Python reads more forms of a number than it writes.
      constexpr std::size_t kMaxDigits = 18;
      if (text->empty() || text->size() > kMaxDigits || !std::ranges::all_of(*text, is_digit))
        return Step::kUnknown;
      std::uint64_t index = 0;
      for (const char c : *text) index = index * 10 + static_cast<std::uint64_t>(c - '0');
      return opcode == 'g' ? get(index) : put(index);
    }
    case 'q':
    case 'h':  // BINPUT, BINGET
      if (!has(1)) return Step::kTruncated;
      return opcode == 'q' ? put(number(1)) : get(number(1));
    case 'r':
    case 'j':  // LONG_BINPUT, LONG_BINGET
      if (!has(4)) return Step::kTruncated;
      return opcode == 'r' ? put(number(4)) : get(number(4));
    case 0x94:  // MEMOIZE
      return put(memo_count_);
    case 'K':
      return push_integer(1, false);
    case 'M':
      return push_integer(2, false);
    case 'J':
      return push_integer(4, true);
    case 0x8a: {  // LONG1
      if (!has(1)) return Step::kTruncated;
      return push_integer(static_cast<std::size_t>(number(1)), true);
    }
    case 0x82:
    case 0x83:
    case 0x84:  // EXT1, EXT2, EXT4
      if (watcher_ != nullptr) watcher_->on_extension();
      return push_other(std::size_t{1} << (opcode - 0x82));
    case 'G':
      return push_other(8);
    case 0x8b: {  // LONG4
      if (!has(4)) return Step::kTruncated;
      return push_integer(static_cast<std::size_t>(number(4)), true);
    }
    case 'U':
    case 0x8c:
      return push_counted(1, Kind::kString);
    case 'X':
    case 'T':
      return push_counted(4, Kind::kString);
    case 0x8d:
      return push_counted(8, Kind::kString);
    case 'C':
      return push_counted(1, Kind::kOther);
    case 'B':
      return push_counted(4, Kind::kOther);
    case 0x8e:
    case 0x96:
      return push_counted(8, Kind::kOther);
    default:
      return Step::kUnknown;
  }
}

}  // namespace fxtrace
