// A JSON writer that streams, without building a tree of values, as collections are large.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/text/numbers.h"
#include "support/text/unicode.h"

namespace fxtrace::internal {

// The layout of containers begun with open(); those of open_lines() have each item on its own line.
enum class JsonLayout {
  kSpaced,   // on one line
  kCompact,  // on one line, without spaces
  kLines     // each item on a line of its own
};

// Appends JSON text to a buffer, which is flushed to the stream in pieces.
class JsonEmitter {
 public:
  explicit JsonEmitter(std::ostream& out, JsonLayout layout = JsonLayout::kSpaced)
      : out_(out), layout_(layout) {}

  void raw(std::string_view text) { buffer_ += text; }

  void string(std::string_view text) {
    buffer_ += '"';
    while (!text.empty()) {
      const std::size_t plain = count_plain(text);
      buffer_.append(text, 0, plain);
      text.remove_prefix(plain);
      if (text.empty()) break;
      const auto byte = static_cast<unsigned char>(text.front());
      if (byte >= 0x80) {
        const auto character = first_character(text);
        buffer_ += character.bytes;
        text.remove_prefix(character.length);
        continue;
      }
      if (byte == '"' || byte == '\\') {
        buffer_ += '\\';
        buffer_ += text.front();
      } else {
        escape(byte);
      }
      text.remove_prefix(1);
    }
    buffer_ += '"';
  }

  template <std::integral T>
  void integer(T value) {
    char text[24];
    buffer_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
  }

  // Writes the shortest text that reads back as the same number, and never as an integer; null for infinity
  // and NaN.
  void real(double value) {
    if (!std::isfinite(value)) return null();
    char text[32];
    const std::string_view written(text, std::to_chars(text, text + sizeof text, value).ptr);
    buffer_ += written;
    if (written.find_first_of(".e") == std::string_view::npos) buffer_ += ".0";
  }

  void boolean(bool value) { buffer_ += value ? "true" : "false"; }
  void null() { buffer_ += "null"; }

  // Writes a string, a number, a boolean, an optional (null when empty), a size as number or text, a list, or
  // an object from pairs of names and values.  A function is called to write its value.
  template <class T>
  void value(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      boolean(value);
    } else if constexpr (std::integral<T>) {
      integer(value);
    } else if constexpr (std::floating_point<T>) {
      real(value);
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      string(value);
    } else if constexpr (std::invocable<const T&>) {
      value();
    } else if constexpr (requires { value.has_value(); }) {
      value ? this->value(*value) : null();
    } else if constexpr (requires { value.number(), value.text(); }) {
      const auto number = value.number();
      number ? integer(*number) : string(value.text());
    } else if constexpr (requires { value.begin()->first; }) {
      object([&] {
        for (const auto& [name, item] : value) field(name, item);
      });
    } else {
      list(value, [this](const auto& item) { this->value(item); });
    }
  }

  // Begins a container in the emitter's layout.
  void open(char bracket) { open(bracket, layout_ == JsonLayout::kLines); }
  // Begins a container with each item on its own line.
  void open_lines(char bracket) { open(bracket, true); }
  void close(char bracket) {
    const Level level = levels_.back();
    levels_.pop_back();
    if (level.lines) {
      indent_ -= 2;
      if (!level.empty) new_line();
    }
    buffer_ += bracket;
  }
  // Must come before every item.
  void item() {
    if (buffer_.size() >= kFlushBytes) flush();
    Level& level = levels_.back();
    if (!level.empty) buffer_ += level.lines || layout_ == JsonLayout::kCompact ? "," : ", ";
    if (level.lines) new_line();
    level.empty = false;
  }
  // Writes a key; must come before every value of an object.
  JsonEmitter& key(std::string_view name) {
    item();
    string(name);
    buffer_ += layout_ == JsonLayout::kCompact ? ":" : ": ";
    return *this;
  }
  template <class T>
  void field(std::string_view name, const T& value) {
    key(name).value(value);
  }
  // Writes a field that is null when the text is empty (unknown).
  void text_or_null(std::string_view name, std::string_view text) {
    text.empty() ? key(name).null() : key(name).string(text);
  }

  // Writes an object: write() writes its fields.  Likewise a list: write(item) writes each item.
  template <std::invocable F>
  void object(F&& write) {
    open('{');
    write();
    close('}');
  }
  template <std::invocable F>
  void object_lines(F&& write) {
    open_lines('{');
    write();
    close('}');
  }
  template <class Items, class F>
  void list(Items&& items, F&& write) {
    open('[');
    write_items(items, write);
  }
  template <class Items, class F>
  void list_lines(Items&& items, F&& write) {
    open_lines('[');
    write_items(items, write);
  }
  // Writes a list of objects: write(item) writes the fields of each.
  template <class Items, class F>
  void objects(Items&& items, F&& write) {
    list(items, [&](const auto& each) { object([&] { write(each); }); });
  }
  template <class Items, class F>
  void objects_lines(Items&& items, F&& write) {
    list_lines(items, [&](const auto& each) { object([&] { write(each); }); });
  }
  // Writes a whole document: an object with one field a line.
  template <std::invocable F>
  void document(F&& write) {
    object_lines(write);
    buffer_ += '\n';
    flush();
  }

  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kFlushBytes = 1 << 20;

  struct Level {
    bool lines = false;
    bool empty = true;
  };

  void open(char bracket, bool lines) {
    buffer_ += bracket;
    levels_.push_back({lines, true});
    if (lines) indent_ += 2;
  }

  template <class Items, class F>
  void write_items(Items& items, F&& write) {
    for (const auto& each : items) {
      item();
      write(each);
    }
    close(']');
  }

  void new_line() {
    buffer_ += '\n';
    buffer_.append(indent_, ' ');
  }

  // Returns the number of leading characters that need no escape.
  static std::size_t count_plain(std::string_view text) {
    const auto is_plain = [](char character) {
      return character >= 0x20 && character < 0x7F && character != '"' && character != '\\';
    };
    // Eight characters at a time, as most of a document is names.  The highest bit of a byte in `marks`
    // tells that the character is below 0x20, equal to one of the three others, or not ASCII. A subtraction
    // borrows only from bytes behind such a one.
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    std::size_t count = 0;
    for (; text.size() - count >= sizeof(std::uint64_t); count += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + count, sizeof word);
      const auto is_equal = [&](char character) {
        return (word ^ (kOnes * static_cast<unsigned char>(character))) - kOnes;
      };
      const std::uint64_t marks =
          word | (word - kOnes * 0x20) | is_equal('"') | is_equal('\\') | is_equal('\x7F');
      if ((marks & (kOnes << 7)) != 0) break;
    }
    return static_cast<std::size_t>(std::ranges::find_if_not(text.substr(count), is_plain) - text.begin());
  }

  void escape(unsigned char byte) {
    const bool is_short = byte == '\n' || byte == '\t' || byte == '\r';
    buffer_ += is_short ? escaped(byte) : "\\u" + hexadecimal(byte, 4);
  }

  std::ostream& out_;
  const JsonLayout layout_;
  std::string buffer_;
  std::size_t indent_ = 0;
  std::vector<Level> levels_;
};

// Returns the text that write(emitter) writes.
template <class F>
std::string json_text(JsonLayout layout, F&& write) {
  std::ostringstream out;
  JsonEmitter json(out, layout);
  write(json);
  json.flush();
  return out.str();
}

}  // namespace fxtrace::internal
