#include "archive/pickle_scan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

namespace fxtrace {
namespace {

using Kind = PickleScan::Kind;

constexpr std::size_t kMaxOpcodes = 400'000;
constexpr std::size_t kMaxItems = 100'000;
constexpr std::size_t kMaxText = 120;

// What is known of a value.  Values live in one arena and are referred to by index.
struct Value {
  Kind kind = Kind::kOther;
  std::string text;                  // string, "module.name" of a global, type of an object
  std::vector<std::uint32_t> parts;  // of a tuple: the first few
  std::vector<std::pair<std::uint32_t, std::uint32_t>> items;  // of a dict or object
};

// The pickle machine, with values reduced to their kinds.
class Machine {
 public:
  Machine(std::string_view bytes, std::size_t start) : bytes_(bytes), at_(start) {}

  PickleScan run() {
    PickleScan scan;
    scan.valid = true;
    for (std::size_t count = 0; count < kMaxOpcodes && at_ < bytes_.size(); ++count) {
      const auto opcode = static_cast<unsigned char>(bytes_[at_++]);
      if (opcode == '.') {
        scan.complete = true;
        break;
      }
      const Step step = execute(opcode);
      if (step == Step::kUnknown) scan.valid = false;
      if (step != Step::kDone) break;
    }
    scan.end = at_;
    if (stack_.empty()) {
      scan.valid = scan.valid && !scan.complete;
      return scan;
    }
    // When the bytes stop early, the outermost container is the first thing on the stack.
    const std::uint32_t result = scan.complete ? stack_.back() : stack_.front();
    if (result == kMark) return scan;
    const Value& value = values_[result];
    scan.kind = value.kind;
    if (value.kind == Kind::kObject || value.kind == Kind::kGlobal) scan.type = value.text;
    for (const auto& [key, item] : value.items) {
      if (values_[key].kind == Kind::kString) scan.items.emplace_back(values_[key].text, values_[item].kind);
    }
    return scan;
  }

 private:
  enum class Step { kDone, kUnknown, kTruncated };
  static constexpr std::uint32_t kMark = UINT32_MAX;

  std::uint32_t make(Kind kind, std::string_view text = {}) {
    values_.push_back({kind, std::string(text.substr(0, kMaxText)), {}, {}});
    return static_cast<std::uint32_t>(values_.size() - 1);
  }
  void push(Kind kind, std::string_view text = {}) { stack_.push_back(make(kind, text)); }
  std::uint32_t pop() {
    if (stack_.empty()) return make(Kind::kOther);
    const std::uint32_t value = stack_.back();
    stack_.pop_back();
    return value == kMark ? make(Kind::kOther) : value;
  }
  // Everything above the last mark, which goes too.
  std::vector<std::uint32_t> pop_to_mark() {
    auto from = stack_.end();
    while (from != stack_.begin() && *(from - 1) != kMark) --from;
    std::vector<std::uint32_t> values(from, stack_.end());
    if (from != stack_.begin()) --from;
    stack_.erase(from, stack_.end());
    return values;
  }
  std::optional<std::uint32_t> top() const {
    if (stack_.empty() || stack_.back() == kMark) return std::nullopt;
    return stack_.back();
  }

  bool has(std::uint64_t size) const { return size <= bytes_.size() - at_; }
  std::uint64_t number(int size) {
    std::uint64_t value = 0;
    for (int i = size - 1; i >= 0; --i) {
      value = (value << 8) | static_cast<unsigned char>(bytes_[at_ + static_cast<std::size_t>(i)]);
    }
    at_ += static_cast<std::size_t>(size);
    return value;
  }
  std::optional<std::string_view> line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

  Step push_counted(int size, Kind kind) {
    if (!has(static_cast<std::uint64_t>(size))) return Step::kTruncated;
    const std::uint64_t length = number(size);
    if (!has(length)) return Step::kTruncated;
    push(kind, bytes_.substr(at_, static_cast<std::size_t>(length)));
    at_ += static_cast<std::size_t>(length);
    return Step::kDone;
  }
  Step push_fixed(std::size_t size) {
    if (!has(size)) return Step::kTruncated;
    at_ += size;
    push(Kind::kOther);
    return Step::kDone;
  }
  Step push_line(Kind kind) {
    const auto text = line();
    if (!text) return Step::kTruncated;
    push(kind, *text);
    return Step::kDone;
  }

  void put(std::uint64_t index) {
    if (const auto value = top()) memo_[index] = *value;
  }
  void get(std::uint64_t index) {
    const auto found = memo_.find(index);
    stack_.push_back(found == memo_.end() ? make(Kind::kOther) : found->second);
  }

  void set_items(std::uint32_t target, const std::vector<std::uint32_t>& flat) {
    auto& items = values_[target].items;
    for (std::size_t i = 0; i + 1 < flat.size() && items.size() < kMaxItems; i += 2) {
      items.emplace_back(flat[i], flat[i + 1]);
    }
  }
  void push_tuple(const std::vector<std::uint32_t>& values) {
    const std::uint32_t tuple = make(Kind::kTuple);
    values_[tuple].parts.assign(
        values.begin(),
        values.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(values.size(), 4)));
    stack_.push_back(tuple);
  }

  // The result of calling `callable`, told by its name.
  void push_call(std::uint32_t callable, std::uint32_t arguments) {
    std::string name = values_[callable].text;
    const auto first = [&]() -> const Value* {
      const auto& parts = values_[arguments].parts;
      return parts.empty() ? nullptr : &values_[parts.front()];
    };
    if (name == "collections.OrderedDict" || name == "collections.defaultdict") return push(Kind::kDict);
    if (name.starts_with("torch._utils._rebuild_") || name.starts_with("torch._tensor._rebuild_")) {
      return push(Kind::kTensor);
    }
    if (name == "copy_reg._reconstructor" || name == "copyreg._reconstructor" ||
        name == "copyreg.__newobj__") {
      if (const Value* type = first()) name = type->text;
    }
    if (name.find("reduce_graph_module") != std::string::npos ||
        name.find("reduce_package_graph_module") != std::string::npos) {
      name = "torch.fx.GraphModule";
    }
    push(Kind::kObject, name);
  }

  Step execute(unsigned char opcode);

  std::string_view bytes_;
  std::size_t at_;
  std::vector<Value> values_;
  std::vector<std::uint32_t> stack_;
  std::unordered_map<std::uint64_t, std::uint32_t> memo_;
};

Machine::Step Machine::execute(unsigned char opcode) {
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
      return Step::kDone;
    case '0':  // POP
      if (!stack_.empty()) stack_.pop_back();
      return Step::kDone;
    case '1':  // POP_MARK
      pop_to_mark();
      return Step::kDone;
    case '2':  // DUP
      if (const auto value = top()) stack_.push_back(*value);
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
      const auto values = pop_to_mark();
      push(Kind::kDict);
      set_items(stack_.back(), values);
      return Step::kDone;
    }
    case 'l':
    case 0x91:  // LIST, FROZENSET
      pop_to_mark();
      push(opcode == 'l' ? Kind::kList : Kind::kOther);
      return Step::kDone;
    case 't':
      push_tuple(pop_to_mark());
      return Step::kDone;
    case 0x85:
    case 0x86:
    case 0x87: {  // TUPLE1..3
      std::vector<std::uint32_t> values;
      for (int i = 0; i < opcode - 0x84; ++i) values.insert(values.begin(), pop());
      push_tuple(values);
      return Step::kDone;
    }
    case 'a':  // APPEND
      pop();
      return Step::kDone;
    case 'e':
    case 0x90:  // APPENDS, ADDITEMS
      pop_to_mark();
      return Step::kDone;
    case 's': {  // SETITEM
      const std::uint32_t value = pop();
      const std::uint32_t key = pop();
      if (const auto target = top()) set_items(*target, {key, value});
      return Step::kDone;
    }
    case 'u': {  // SETITEMS
      const auto values = pop_to_mark();
      if (const auto target = top()) set_items(*target, values);
      return Step::kDone;
    }
    case 'R':
    case 0x81: {  // REDUCE, NEWOBJ
      const std::uint32_t arguments = pop();
      push_call(pop(), arguments);
      return Step::kDone;
    }
    case 0x92: {  // NEWOBJ_EX
      pop();
      const std::uint32_t arguments = pop();
      push_call(pop(), arguments);
      return Step::kDone;
    }
    case 'b': {  // BUILD
      const std::uint32_t state = pop();
      const auto target = top();
      if (target && values_[*target].kind == Kind::kObject) {
        values_[*target].items = std::move(values_[state].items);  // copies could be made to add up
      }
      return Step::kDone;
    }
    case 'o': {  // OBJ
      const auto values = pop_to_mark();
      push(Kind::kObject, values.empty() ? std::string() : values_[values.front()].text);
      return Step::kDone;
    }
    case 'c':
    case 'i': {  // GLOBAL, INST
      const auto module = line();
      const auto name = module ? line() : std::nullopt;
      if (!name) return Step::kTruncated;
      if (opcode == 'i') pop_to_mark();
      push(opcode == 'i' ? Kind::kObject : Kind::kGlobal, std::string(*module) + "." + std::string(*name));
      return Step::kDone;
    }
    case 0x93: {  // STACK_GLOBAL
      const std::uint32_t name = pop();
      const std::uint32_t module = pop();
      push(Kind::kGlobal, values_[module].text + "." + values_[name].text);
      return Step::kDone;
    }
    case 'Q': {  // BINPERSID
      // The legacy format refers to a module's class as ("module", class, file, source).
      const std::uint32_t id = pop();
      const auto& parts = values_[id].parts;
      if (parts.size() >= 2 && values_[parts[0]].text == "module") {
        stack_.push_back(parts[1]);
      } else {
        push(Kind::kOther);
      }
      return Step::kDone;
    }
    case 'F':
    case 'I':
    case 'L':
    case 'P':
      return push_line(Kind::kOther);
    case 'S':
    case 'V':
      return push_line(Kind::kString);
    case 'g':
    case 'p': {  // GET, PUT
      const auto text = line();
      if (!text) return Step::kTruncated;
      std::uint64_t index = 0;
      for (const char c : text->substr(0, 18)) {
        if (c >= '0' && c <= '9') index = index * 10 + static_cast<std::uint64_t>(c - '0');
      }
      opcode == 'g' ? get(index) : put(index);
      return Step::kDone;
    }
    case 'q':
    case 'h':  // BINPUT, BINGET
      if (!has(1)) return Step::kTruncated;
      opcode == 'q' ? put(number(1)) : get(number(1));
      return Step::kDone;
    case 'r':
    case 'j':  // LONG_BINPUT, LONG_BINGET
      if (!has(4)) return Step::kTruncated;
      opcode == 'r' ? put(number(4)) : get(number(4));
      return Step::kDone;
    case 0x94:  // MEMOIZE
      put(memo_.size());
      return Step::kDone;
    case 'K':
    case 0x82:
      return push_fixed(1);
    case 'M':
    case 0x83:
      return push_fixed(2);
    case 'J':
    case 0x84:
      return push_fixed(4);
    case 'G':
      return push_fixed(8);
    case 0x8a:
      return push_counted(1, Kind::kOther);
    case 0x8b:
      return push_counted(4, Kind::kOther);
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

// Keys come from the file: only what is printable goes into a message.
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
  return Machine(bytes, std::min(start, bytes.size())).run();
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

}  // namespace fxtrace
