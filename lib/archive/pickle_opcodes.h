// The decoder of pickle opcodes that PickleMachine and torchscript::PickleValues share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/model_file.h"

namespace fxtrace::internal {

// Decodes opcodes with their operands, and keeps the stack and its marks.  Self derives from this class and
// makes the values; an Entry is a value on the stack.  Self has
// - push_none(), push_boolean(), push_integer(), push_long(size), where that many bytes follow, push_real()
//   with eight bytes in big-endian order, push_text(), push_global(module, name), push_tuple(), push_list(),
//   and push_dict() with keys and values in turn;
// - append() and set_items(), which change the value on top; make_object(arguments) for the class on top
//   (NEWOBJ), call(), build(state) for the value on top, push_persistent(id);
// - put() and get() for the memo; accept_protocol(); charge(count), called before that many values leave
//   the stack together, and at a mark, so that memory can be limited;
// - other(), which executes all opcodes that TorchScript does not write;
// - missing(), which returns a value when the stack has none, and end_in_value(), end_in_line() and
//   no_mark(), which throw.
template <class Self, class Entry>
class PickleOpcodes {
 protected:
  // Executes the next opcode; there must be one.
  void step() {
    const auto opcode = static_cast<unsigned char>(bytes_[at_++]);
    switch (opcode) {
      case 0x80:  // PROTO
        return self().accept_protocol(number(1));
      case '.':
        is_stopped_ = true;
        return;
      case '(':
        self().charge(1);
        return marks_.push_back(stack_.size());
      case 'N':
        return self().push_none();
      case 0x88:
      case 0x89:  // NEWTRUE, NEWFALSE
        return self().push_boolean(opcode == 0x88);
      case 'K':
        return self().push_integer(static_cast<std::int64_t>(number(1)));
      case 'M':
        return self().push_integer(static_cast<std::int64_t>(number(2)));
      case 'J':
        return self().push_integer(signed_number(4));
      case 0x8a:  // LONG1
        return self().push_long(number(1));
      case 'G':
        return self().push_real(text(8));
      case 'X':
      case 0x8d:  // BINUNICODE, BINUNICODE8
        return self().push_text(text(number(opcode == 'X' ? 4 : 8)));
      case ')':
        return self().push_tuple({});
      case 0x85:
      case 0x86:
      case 0x87: {  // TUPLE1..3
        std::array<Entry, 3> entries{};
        const std::size_t count = opcode - 0x84U;
        for (std::size_t i = count; i > 0; --i) entries[i - 1] = pop();
        return self().push_tuple(std::span(entries).first(count));
      }
      case 't':
        return self().push_tuple(pop_to_mark());
      case ']':
        return self().push_list({});
      case 'l':
        return self().push_list(pop_to_mark());
      case 'a': {
        Entry item = pop();
        return self().append(std::span(&item, 1));
      }
      case 'e':
        return self().append(pop_to_mark());
      case '}':
        return self().push_dict({});
      case 'd':
        return self().push_dict(pop_to_mark());
      case 's': {
        std::array<Entry, 2> item{};
        item[1] = pop();
        item[0] = pop();
        return self().set_items(item);
      }
      case 'u':
        return self().set_items(pop_to_mark());
      case 'c': {
        const std::string_view module = line();
        return self().push_global(module, line());
      }
      case 0x81:  // NEWOBJ
        return self().make_object(pop());
      case 'R': {
        Entry arguments = pop();
        return self().call(pop(), std::move(arguments));
      }
      case 'b':
        return self().build(pop());
      case 'Q':
        return self().push_persistent(pop());
      case 'q':
        return self().put(number(1));
      case 'r':
        return self().put(number(4));
      case 'h':
        return self().get(number(1));
      case 'j':
        return self().get(number(4));
      default:
        return self().other(opcode);
    }
  }

  // --- operands ---

  std::string_view text(std::uint64_t size) {
    if (size > bytes_.size() - at_) self().end_in_value();
    const std::string_view part = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += part.size();
    return part;
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) self().end_in_line();
    const std::string_view part = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return part;
  }
  // Reads an unsigned integer of at most eight bytes.
  std::uint64_t number(std::size_t size) { return little_endian(text(size), 0, static_cast<int>(size)); }
  std::int64_t signed_number(std::size_t size) {
    if (size == 0) return 0;
    const auto unused = static_cast<unsigned>(64 - 8 * size);
    return static_cast<std::int64_t>(number(size) << unused) >> unused;
  }

  // --- the stack ---

  // Returns whether there is a value above the last mark.
  bool has_top() const { return stack_.size() > (marks_.empty() ? 0 : marks_.back()); }
  Entry pop() {
    if (!has_top()) return self().missing();
    Entry entry = std::move(stack_.back());
    stack_.pop_back();
    return entry;
  }
  // Takes the last mark and the values above it off the stack; the values stay valid until the next call.
  std::span<Entry> pop_to_mark() {
    if (marks_.empty()) self().no_mark();
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    self().charge(static_cast<std::size_t>(stack_.end() - first));
    taken_.assign(std::make_move_iterator(first), std::make_move_iterator(stack_.end()));
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return taken_;
  }

  std::string_view bytes_;
  std::size_t at_;
  bool is_stopped_ = false;
  std::vector<Entry> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack when the marks were set

 private:
  friend Self;
  explicit PickleOpcodes(std::string_view bytes, std::size_t start = 0) : bytes_(bytes), at_(start) {}
  Self& self() { return static_cast<Self&>(*this); }

  std::vector<Entry> taken_;
};

}  // namespace fxtrace::internal
