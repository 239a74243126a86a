#include "archive/pickle_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/error.h"

namespace fxtrace {
namespace {

// Each takes its reader some forty bytes or more.
constexpr std::size_t kMaxValues = 16'000'000;
// A module takes two levels: the object and the dict of its attributes.
constexpr std::uint32_t kMaxNesting = 1'000;

// Follows the unpickler's stack with the nesting of each value in place of the value.
class PickleCheck {
 public:
  explicit PickleCheck(std::string_view bytes) : bytes_(bytes) {}

  void run() {
    while (!done_ && at_ < bytes_.size()) step(bytes_[at_++]);
  }

 private:
  struct Value {
    std::uint32_t nesting = 0;
    bool shared = false;  // fetched from the memo: no longer to be changed
  };
  using Id = std::uint32_t;

  void step(char opcode) {
    switch (opcode) {
      case '\x80':  // PROTO
        return skip(1);
      case '.':  // STOP
        done_ = true;
        return;
      case '(':  // MARK
        marks_.push_back(stack_.size());
        return;
      case 'N':
      case '\x88':
      case '\x89':  // NONE, NEWTRUE, NEWFALSE
      case ')':
      case ']':
      case '}':  // EMPTY_TUPLE, EMPTY_LIST, EMPTY_DICT
        return push(0);
      case 'K':  // BININT1
        return leaf(1);
      case 'M':  // BININT2
        return leaf(2);
      case 'J':  // BININT
        return leaf(4);
      case 'G':  // BINFLOAT
        return leaf(8);
      case '\x8a':
      case '\x8c':
      case 'U':  // LONG1, SHORT_BINUNICODE, SHORT_BINSTRING
        return leaf(number(1));
      case 'X':
      case 'B':
      case 'T':  // BINUNICODE, BINBYTES, BINSTRING
        return leaf(number(4));
      case '\x8d':  // BINUNICODE8
        return leaf(number(8));
      case 'c':  // GLOBAL
        skip_line();
        skip_line();
        return push(0);
      case 'q':  // BINPUT
        return put(number(1));
      case 'r':  // LONG_BINPUT
        return put(number(4));
      case 'h':  // BINGET
        return get(number(1));
      case 'j':  // LONG_BINGET
        return get(number(4));
      case '\x85':
      case 'Q':
      case '\x86':
      case '\x81':
      case 'R':
      case '\x87':
        // TUPLE1 and BINPERSID take one value, TUPLE2, NEWOBJ and REDUCE two, TUPLE3 three.
        return make(opcode == '\x87' ? 3 : opcode == '\x85' || opcode == 'Q' ? 1 : 2);
      case 't':
      case 'l':
      case 'd':  // TUPLE, LIST, DICT
        return make(values_above_mark());
      case 'a':
      case 'b':  // APPEND, BUILD
        return change(1);
      case 's':  // SETITEM
        return change(2);
      case 'e':
      case 'u':  // APPENDS, SETITEMS
        return change(values_above_mark());
      default:
        throw input_error("its pickle has opcode " + std::to_string(static_cast<unsigned char>(opcode)) +
                          ", which TorchScript does not write");
    }
  }

  std::size_t number(int size) {
    std::size_t value = 0;
    for (int i = 0; i < size && at_ < bytes_.size(); ++i) {
      value |= static_cast<std::size_t>(static_cast<unsigned char>(bytes_[at_++])) << (8 * i);
    }
    return value;
  }
  void skip(std::size_t size) {
    if (size > bytes_.size() - at_) throw input_error("its pickle ends in the middle of a value");
    at_ += size;
  }
  void skip_line() {
    const auto end = bytes_.find('\n', at_);
    at_ = end == std::string_view::npos ? bytes_.size() : end + 1;
  }

  void push(std::uint32_t nesting) {
    if (nesting > kMaxNesting) {
      throw input_error("its pickle nests values more than " + std::to_string(kMaxNesting) + " deep");
    }
    count();
    stack_.push_back(static_cast<Id>(values_.size()));
    values_.push_back({nesting});
  }
  void count() {
    if (count_++ == kMaxValues) {
      throw input_error("its pickle has more than " + std::to_string(kMaxValues) + " values");
    }
  }
  // Numbers and texts are all alike: most of what there is.
  void leaf(std::size_t size) {
    skip(size);
    count();
    stack_.push_back(kLeaf);
  }
  // Takes `count` values off; the deepest's nesting, and one more.
  std::uint32_t take(std::size_t count) {
    std::uint32_t nesting = 0;
    for (; count > 0 && !stack_.empty(); --count) {
      nesting = std::max(nesting, values_[stack_.back()].nesting + 1);
      stack_.pop_back();
    }
    return nesting;
  }
  std::size_t values_above_mark() {
    if (marks_.empty()) throw input_error("its pickle closes what it did not open");
    const std::size_t below = std::min(marks_.back(), stack_.size());
    marks_.pop_back();
    return stack_.size() - below;
  }
  void make(std::size_t count) { push(take(count)); }
  void change(std::size_t count) {
    const std::uint32_t nesting = take(count);
    if (stack_.empty()) throw input_error("its pickle changes what it did not make");
    if (stack_.back() == kLeaf) throw input_error("its pickle changes what it did not make");
    Value& value = values_[stack_.back()];
    // Whoever fetched the value has a nesting that is no longer true; only cycles need that.
    if (value.shared) throw input_error("its pickle has a value that contains itself");
    value.nesting = std::max(value.nesting, nesting);
    if (value.nesting > kMaxNesting) {
      throw input_error("its pickle nests values more than " + std::to_string(kMaxNesting) + " deep");
    }
  }
  void put(std::size_t index) {
    // Every entry of the memo takes an opcode with its operand.
    if (index > bytes_.size()) throw input_error("its pickle has a memo index beyond its size");
    if (stack_.empty()) throw input_error("its pickle keeps a value that is not there");
    if (memo_.size() <= index) memo_.resize(index + 1, kNoValue);
    memo_[index] = stack_.back();
  }
  void get(std::size_t index) {
    if (index >= memo_.size() || memo_[index] == kNoValue) {
      throw input_error("its pickle fetches a value that it did not keep");
    }
    values_[memo_[index]].shared = true;
    stack_.push_back(memo_[index]);
  }

  static constexpr Id kNoValue = UINT32_MAX;
  static constexpr Id kLeaf = 0;
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool done_ = false;
  std::vector<Value> values_{Value{}};
  std::size_t count_ = 0;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Id> memo_;
};

}  // namespace

void check_pickle(std::string_view pickle) { PickleCheck(pickle).run(); }

}  // namespace fxtrace
