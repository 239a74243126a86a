// JSON text as it is written, without a tree of values: collections are large.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "support/utf8.h"

namespace fxtrace {

// Appends JSON text to a buffer that goes to the stream piece by piece.  Containers are opened in one of two
// layouts: on one line, or with each item on a line of its own.
class JsonEmitter {
 public:
  explicit JsonEmitter(std::ostream& out) : out_(out) {}

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

  void integer(std::int64_t value) {
    char text[24];
    buffer_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
  }

  // The shortest text that reads back as the same number, and never as an integer.
  void finite_double(double value) {
    char text[32];
    const std::string_view written(text, std::to_chars(text, text + sizeof text, value).ptr);
    buffer_ += written;
    if (written.find_first_of(".e") == std::string_view::npos) buffer_ += ".0";
  }

  void boolean(bool value) { buffer_ += value ? "true" : "false"; }
  void null() { buffer_ += "null"; }

  // A container whose items stand on one line.
  void open(char bracket) {
    buffer_ += bracket;
    levels_.push_back({false, true});
  }
  // A container with each item on its own line.
  void open_lines(char bracket) {
    buffer_ += bracket;
    levels_.push_back({true, true});
    indent_ += 2;
  }
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
    Level& level = levels_.back();
    if (!level.empty) buffer_ += level.lines ? "," : ", ";
    if (level.lines) new_line();
    level.empty = false;
  }
  void key(std::string_view name) {
    item();
    string(name);
    buffer_ += ": ";
  }

  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kFlushBytes = 1 << 16;

  struct Level {
    bool lines = false;
    bool empty = true;
  };

  void new_line() {
    if (buffer_.size() >= kFlushBytes) flush();
    buffer_ += '\n';
    buffer_.append(indent_, ' ');
  }

  // Of the characters in front, those that stand for themselves.
  static std::size_t count_plain(std::string_view text) {
    const auto is_plain = [](char character) {
      return character >= 0x20 && character < 0x7F && character != '"' && character != '\\';
    };
    return static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
  }

  void escape(unsigned char byte) {
    switch (byte) {
      case '\n':
        buffer_ += "\\n";
        break;
      case '\t':
        buffer_ += "\\t";
        break;
      case '\r':
        buffer_ += "\\r";
        break;
      default:
        constexpr std::string_view kDigits = "0123456789abcdef";
        buffer_ += "\\u00";
        buffer_ += kDigits[byte >> 4];
        buffer_ += kDigits[byte & 15];
    }
  }

  std::ostream& out_;
  std::string buffer_;
  std::size_t indent_ = 0;
  std::vector<Level> levels_;
};

}  // namespace fxtrace
