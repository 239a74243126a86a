#include "archive/pickle_machine.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/text/identifier.h"

namespace fxtrace::internal {

PickleMachine::End PickleMachine::run(std::size_t max_opcodes) {
  max_opcodes_ = max_opcodes;
  try {
    for (std::size_t count = 0; at_ < bytes_.size(); ++count) {
      if (count == max_opcodes) return End::kLimit;
      step();
      if (is_stopped_) return End::kStop;
    }
    return End::kTruncated;
  } catch (const MalformedPickle& broken) {
    return broken.end;
  }
}

std::optional<PickleMachine::Id> PickleMachine::find_result() const {
  if (is_stopped_) return find_top();
  const bool begins_with_mark = !marks_.empty() && marks_.front() == 0;
  return stack_.empty() || begins_with_mark ? std::nullopt : std::optional(stack_.front());
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

void PickleMachine::push(Kind kind) {
  stack_.push_back(static_cast<Id>(values_.size()));
  values_.emplace_back().kind = kind;
}

void PickleMachine::push_parts(Kind kind, std::span<const Id> parts) {
  push(kind);
  values_.back().first_part = static_cast<std::uint32_t>(parts_.size());
  values_.back().part_count = static_cast<std::uint32_t>(parts.size());
  parts_.insert(parts_.end(), parts.begin(), parts.end());
}

void PickleMachine::push_text(std::string_view text) {
  push(Kind::kString);
  values_.back().text = text;
}

void PickleMachine::push_integer(std::int64_t number) {
  push(Kind::kInteger);
  values_.back().number = number;
}

void PickleMachine::push_long(std::uint64_t size) {
  size > 8 ? push_other(size) : push_integer(signed_number(static_cast<std::size_t>(size)));
}

void PickleMachine::push_other(std::uint64_t size) {
  text(size);
  push(Kind::kOther);
}

void PickleMachine::push_bytes(std::uint64_t size) {
  const std::string_view bytes = text(size);
  push(Kind::kBytes);
  values_.back().text = bytes;
}

// Makes a tuple that is not on the stack.
PickleMachine::Id PickleMachine::make_tuple(std::span<const Id> items) {
  push_tuple(items);
  return pop();
}

// Pushes an integer written as text: "12", "-12L"; "00" and "01" are booleans.
void PickleMachine::push_digits(std::string_view digits) {
  if (digits.ends_with('L')) digits.remove_suffix(1);
  const bool is_bool = digits == "00" || digits == "01";
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_integer = !is_bool && problem == std::errc() && end == digits.data() + digits.size();
  is_integer ? push_integer(value) : push(Kind::kOther);
}

void PickleMachine::push_list(std::span<const Id> items) {
  push(Kind::kList);
  add_list_items(stack_.back(), items);
}

void PickleMachine::push_dict(std::span<const Id> items) {
  push(Kind::kDict);
  add_items(stack_.back(), items);
}

void PickleMachine::push_global(std::string_view module, std::string_view name) {
  push_text(module);
  push_text(name);
  push_global_of_stack();
}

void PickleMachine::push_global_of_stack() {
  const Id name = pop();
  const Id module = pop();
  push_parts(Kind::kGlobal, std::array{module, name});
}

// The legacy format refers to a module's class as ("module", class, file, source).
void PickleMachine::push_persistent(Id id) {
  if (watcher_ != nullptr) watcher_->on_persistent(id);
  const auto id_parts = parts(id);
  if (id_parts.size() >= 2 && values_[id_parts[0]].text == "module") {
    stack_.push_back(id_parts[1]);
  } else {
    push_parts(Kind::kPersistent, std::array{id});
  }
}

// --- changes ---

void PickleMachine::call(Id callable, Id arguments, Id keywords) {
  if (watcher_ != nullptr) watcher_->on_call(callable, arguments, keywords);
  if (is_global(callable, "collections", "OrderedDict") ||
      is_global(callable, "collections", "defaultdict")) {
    return push(Kind::kDict);
  }
  push_parts(Kind::kCall, std::array{callable, arguments});
}

void PickleMachine::build(Id state) {
  const auto target = find_top();
  if (watcher_ != nullptr) watcher_->on_state(target.value_or(kNothing), state);
  if (target && values_[*target].kind == Kind::kCall && values_[state].kind != Kind::kList)
    values_[*target].items = values_[state].items;
}

// Tells the watcher that the value on top gets items.
void PickleMachine::fill(Kind expected) {
  if (watcher_ != nullptr) watcher_->on_fill(find_top().value_or(kNothing), expected);
}

void PickleMachine::set_items(std::span<const Id> flat) {
  fill(Kind::kDict);
  if (const auto target = find_top()) add_items(*target, flat);
}

void PickleMachine::append(std::span<const Id> items) {
  fill(Kind::kList);
  if (const auto target = find_top(); target && values_[*target].kind == Kind::kList)
    add_list_items(*target, items);
}

std::vector<PickleMachine::Item>& PickleMachine::items_of(Id target) {
  if (values_[target].items == 0) {
    values_[target].items = static_cast<std::uint32_t>(items_.size());
    items_.emplace_back();
  }
  return items_[values_[target].items];
}

void PickleMachine::add_list_items(Id target, std::span<const Id> list) {
  if (list.empty()) return;
  auto& items = items_of(target);
  for (const Id item : list) items.emplace_back(item, kNothing);
}

void PickleMachine::add_items(Id target, std::span<const Id> flat) {
  if (flat.size() < 2) return;
  auto& items = items_of(target);
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) items.emplace_back(flat[i], flat[i + 1]);
}

// --- the stack and the memo ---

// Called when an invalid pickle pops the mark, or pops from an empty stack.
PickleMachine::Id PickleMachine::missing() {
  if (!marks_.empty()) marks_.pop_back();
  return kNothing;
}

std::optional<PickleMachine::Id> PickleMachine::find_top() const {
  return has_top() ? std::optional(stack_.back()) : std::nullopt;
}

void PickleMachine::put(std::uint64_t index) {
  // No writer skips so many indices that one is beyond the number of opcodes.
  const auto top = find_top();
  if (!top || index >= max_opcodes_) throw MalformedPickle{End::kUnknown};
  const auto place = static_cast<std::size_t>(index);
  if (memo_.size() <= place) memo_.resize(place + 1, kUnset);
  if (memo_[place] == kUnset) ++memo_count_;
  memo_[place] = *top;
}

void PickleMachine::get(std::uint64_t index) {
  if (index >= memo_.size() || memo_[static_cast<std::size_t>(index)] == kUnset)
    throw MalformedPickle{End::kUnknown};
  stack_.push_back(memo_[static_cast<std::size_t>(index)]);
}

void PickleMachine::other(unsigned char opcode) {
  switch (opcode) {
    case 0x95:  // FRAME
      text(8);
      return;
    case '0':  // POP
      pop();
      return;
    case '1':  // POP_MARK
      pop_to_mark();
      return;
    case '2':  // DUP
      if (const auto value = find_top()) stack_.push_back(*value);
      return;
    case 0x97:
    case 0x8f:  // NEXT_BUFFER, EMPTY_SET
      return push(Kind::kOther);
    case 0x98:  // READONLY_BUFFER
      return;
    case 0x91:  // FROZENSET
      pop_to_mark();
      return push(Kind::kOther);
    case 0x90:  // ADDITEMS
      pop_to_mark();
      return fill(Kind::kOther);
    case 0x92: {  // NEWOBJ_EX
      const Id keywords = pop();
      const Id arguments = pop();
      return call(pop(), arguments, keywords);
    }
    case 'o': {  // OBJ
      const auto values = pop_to_mark();
      if (values.empty()) throw MalformedPickle{End::kUnknown};
      const Id callable = values.front();
      return call(callable, make_tuple(values.subspan(1)));
    }
    case 'i': {  // INST
      const std::string_view module = line();
      const std::string_view name = line();
      const Id arguments = make_tuple(pop_to_mark());
      push_global(module, name);
      return call(pop(), arguments);
    }
    case 0x93:  // STACK_GLOBAL
      return push_global_of_stack();
    case 'P':  // PERSID
      if (watcher_ != nullptr) watcher_->on_persistent(kNothing);
      [[fallthrough]];
    case 'F':
      line();
      return push(Kind::kOther);
    case 'I':
    case 'L':
      return push_digits(line());
    case 'S':
    case 'V':
      return push_text(line());
    case 'g':
    case 'p': {  // GET, PUT
      const std::string_view text = line();
      // Python reads more forms of a number than it writes.
      constexpr std::size_t kMaxDigits = 18;
      if (text.empty() || text.size() > kMaxDigits || !std::ranges::all_of(text, is_digit))
        throw MalformedPickle{End::kUnknown};
      std::uint64_t index = 0;
      for (const char c : text) index = index * 10 + static_cast<std::uint64_t>(c - '0');
      return opcode == 'g' ? get(index) : put(index);
    }
    case 0x94:  // MEMOIZE
      return put(memo_count_);
    case 0x82:
    case 0x83:
    case 0x84:  // EXT1, EXT2, EXT4
      if (watcher_ != nullptr) watcher_->on_extension();
      return push_other(std::uint64_t{1} << (opcode - 0x82));
    case 0x8b:  // LONG4
      return push_long(number(4));
    case 'U':
    case 0x8c:
      return push_text(text(number(1)));
    case 'T':
      return push_text(text(number(4)));
    case 'C':
      return push_bytes(number(1));
    case 'B':
      return push_bytes(number(4));
    case 0x8e:
    case 0x96:
      return push_bytes(number(8));
    default:
      throw MalformedPickle{End::kUnknown};
  }
}

namespace {

using Kind = PickleScan::Kind;
using Id = PickleMachine::Id;

constexpr std::size_t kMaxScanned = 400'000;
constexpr std::size_t kMaxGlobal = 120;

// Returns the class of the object that a call makes, by the name of the callable: "pkg.Net".
std::string type_of_call(const PickleMachine& machine, Id call) {
  const auto parts = machine.parts(call);
  std::string name = machine.global_name(parts[0], kMaxGlobal);
  if (name == "copy_reg._reconstructor" || name == "copyreg._reconstructor" || name == "copyreg.__newobj__") {
    const auto arguments = machine.parts(parts[1]);
    if (!arguments.empty()) name = machine.global_name(arguments[0], kMaxGlobal);
  }
  if (name.find("reduce_graph_module") != std::string::npos ||
      name.find("reduce_package_graph_module") != std::string::npos) {
    return "torch.fx.GraphModule";
  }
  return name;
}

Kind kind_of(const PickleMachine& machine, Id id) {
  switch (machine.value(id).kind) {
    case PickleMachine::Kind::kString:
      return Kind::kString;
    case PickleMachine::Kind::kGlobal:
      return Kind::kGlobal;
    case PickleMachine::Kind::kTuple:
      return Kind::kTuple;
    case PickleMachine::Kind::kList:
      return Kind::kList;
    case PickleMachine::Kind::kDict:
      return Kind::kDict;
    case PickleMachine::Kind::kCall: {
      const std::string type = machine.global_name(machine.parts(id)[0], kMaxGlobal);
      const bool is_tensor =
          type.starts_with("torch._utils._rebuild_") || type.starts_with("torch._tensor._rebuild_");
      return is_tensor ? Kind::kTensor : Kind::kObject;
    }
    default:
      return Kind::kOther;
  }
}

// Returns a key of the file between quotes, cut, with control characters replaced.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text.substr(0, 40)) {
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return result + (text.size() > 40 ? "...'" : "'");
}

std::string list_keys(const PickleScan& scan) {
  std::string keys;
  for (std::size_t i = 0; i < std::min<std::size_t>(scan.items.size(), 4); ++i) {
    keys += (i == 0 ? "" : ", ") + quoted(scan.items[i].first);
  }
  return keys + (scan.items.size() > 4 ? ", ..." : "");
}

bool has_key(const PickleScan& scan, std::string_view key) {
  return std::any_of(scan.items.begin(), scan.items.end(),
                     [key](const auto& item) { return item.first == key; });
}

}  // namespace

PickleScan scan_pickle(std::string_view bytes, std::size_t start) {
  PickleMachine machine(bytes, std::min(start, bytes.size()));
  const auto end = machine.run(kMaxScanned);
  PickleScan scan;
  scan.valid = end != PickleMachine::End::kUnknown;
  scan.end = machine.position();
  const auto result = machine.find_result();
  if (!result) {
    scan.valid = scan.valid && end != PickleMachine::End::kStop;
    return scan;
  }
  scan.kind = kind_of(machine, *result);
  if (scan.kind == Kind::kObject) scan.type = type_of_call(machine, *result);
  if (scan.kind == Kind::kGlobal) scan.type = machine.global_name(*result, kMaxGlobal);
  if (scan.kind == Kind::kTensor) return scan;
  for (const auto& [key, item] : machine.items(*result)) {
    const auto& name = machine.value(key);
    if (name.kind != PickleMachine::Kind::kString) continue;
    scan.items.emplace_back(name.text.substr(0, kMaxGlobal), kind_of(machine, item));
  }
  return scan;
}

std::string describe(const PickleScan& scan) {
  switch (scan.kind) {
    case Kind::kTensor:
      return "a tensor";
    case Kind::kDict: {
      const auto tensors = std::count_if(scan.items.begin(), scan.items.end(),
                                         [](const auto& item) { return item.second == Kind::kTensor; });
      if (tensors > 0 && 2 * static_cast<std::size_t>(tensors) >= scan.items.size()) return "a state_dict";
      if (has_key(scan, "param_groups") && has_key(scan, "state")) return "an optimizer's state_dict";
      if (scan.items.empty()) return "a dict";
      return "a checkpoint (a dict with keys " + list_keys(scan) + ")";
    }
    case Kind::kObject: {
      std::string type = quoted(scan.type);
      type = type.substr(1, type.size() - 2);
      if (type == "torch.fx.GraphModule") return "a pickled torch.fx.GraphModule";
      if (has_key(scan, "_modules") || has_key(scan, "_parameters"))
        return "a whole pickled module (" + type + ")";
      return "a pickled object (" + type + ")";
    }
    case Kind::kList:
      return "a list";
    case Kind::kTuple:
      return "a tuple";
    default:
      return "a pickled object";
  }
}

}  // namespace fxtrace::internal
