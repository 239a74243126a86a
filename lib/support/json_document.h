// The one JSON reader: a text is parsed once into a flat array, walked by views.  Megabytes of nodes cost no
// allocation each, what a hostile text may cost has limits, and every error has a place.
//
// simdjson parses what is standard JSON within the limits; all else, and what people may have written, is for
// nlohmann's parser, whose errors have places.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace fxtrace {

class JsonDocument;
class JsonEmitter;

// What a text may be, and how its errors are told.
struct JsonRules {
  ErrorKind error = ErrorKind::kInput;
  std::size_t max_depth = 4'000;  // nested arrays and objects
  // Not strict: as Python's json module reads.  Of equal keys the last one counts, Infinity, -Infinity and
  // NaN become strings, and errors name the path of a value ("graph.nodes[12].inputs[0]").  Strict, for what
  // people may have written: neither is JSON, and errors are at "FILE:LINE:COLUMN" with a JSON pointer.
  bool strict = false;
  std::size_t max_values = 40'000'000;  // keys included
};

// A view of one value; valid while its document lives.  Every accessor throws the Error of fail() when the
// value is not what is asked for.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kInteger, kNumber, kString, kArray, kObject };

  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_boolean() const { return kind() == Kind::kFalse || kind() == Kind::kTrue; }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_array() const { return kind() == Kind::kArray; }
  bool is_object() const { return kind() == Kind::kObject; }

  bool boolean() const;
  std::int64_t integer() const;
  double number() const;  // an integer too, and the strings "Infinity", "-Infinity" and "NaN"
  std::string_view string() const;
  std::string_view key() const;  // of a value that is an object's field

  // Elements of an array, values of an object.
  class Iterator {
   public:
    Iterator(const JsonDocument* document, std::uint32_t at, bool object)
        : document_(document), at_(at), object_(object) {}
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }
    Iterator& operator++();
    JsonValue operator*() const;
    std::string_view key() const;

   private:
    const JsonDocument* document_;
    std::uint32_t at_;  // of an object: of the key
    bool object_;
  };
  struct Range {
    Iterator first, last;
    Iterator begin() const { return first; }
    Iterator end() const { return last; }
    bool empty() const { return !(first != last); }
  };
  Range items() const;   // of an array
  Range fields() const;  // of an object

  // Field of an object; the last of that name, as Python reads it.  Absent, or null: nothing.
  std::optional<JsonValue> find(std::string_view key) const;
  std::optional<JsonValue> find_or_null(std::string_view key) const;  // a null too
  JsonValue at(std::string_view key) const;
  // The one field of an object that has exactly one: how the schema of exported programs writes a union.
  struct Alternative;
  Alternative alternative() const;

  void write(JsonEmitter& json) const;

  // Whether both are the same text; fields of objects in the same order.
  bool equals(const JsonValue& other) const;

  // Throws `what` at this value's place, or at the place of its key.
  [[noreturn]] void fail(const std::string& what, std::vector<std::string> hints = {}) const;
  [[noreturn]] void fail_at_key(const std::string& what) const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::uint32_t at) : document_(document), at_(at) {}

  const JsonDocument* document_;
  std::uint32_t at_;
};

struct JsonValue::Alternative {
  std::string_view key;
  JsonValue value;
};

// A text that the document may use up: parsed where it stands, and freed when that is done.
struct JsonText {
  std::string text;
};

class JsonDocument {
 public:
  static constexpr std::size_t kMaxText = 1'000'000'000;  // bytes
  // What simdjson may read behind a text.  A JsonText with so much capacity to spare is not copied.
  static constexpr std::size_t kPadding = 64;

  // `name` is the text's in errors.  Throws Error for what is no JSON and for what exceeds a limit.  A text
  // that is read strictly must live as long as the document: errors look for their line there.
  JsonDocument(std::string_view text, std::string name, JsonRules rules = {});
  JsonDocument(JsonText text, std::string name, JsonRules rules = {});  // not strict
  JsonDocument(const JsonDocument&) = delete;                           // views point here
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonValue root() const { return {this, 1}; }

 private:
  friend class JsonValue;
  friend class JsonParser;

  // simdjson's tape: a word a value or key, of which the upper byte is its kind, and one more that is a
  // number; what it holds follows, then a word that closes it.
  static constexpr int kTagShift = 56;
  char tag(std::uint32_t at) const { return static_cast<char>(tape_[at] >> kTagShift); }
  // Behind this value and all it holds.
  std::uint32_t next(std::uint32_t at) const {
    switch (tag(at)) {
      case '[':
      case '{':
        return static_cast<std::uint32_t>(tape_[at]);
      case 'l':
      case 'u':
      case 'd':
        return at + 2;
      default:
        return at + 1;
    }
  }
  std::string_view text(std::uint32_t at) const;

  bool parse_fast(JsonText& text);
  void parse(std::string_view text);
  void use_own();
  std::size_t values_before(std::uint32_t at) const;
  std::string path(std::uint32_t at) const;
  std::size_t position(std::size_t values) const;
  std::string line_and_column(std::size_t position) const;
  // The error with its place: the value or key `at`, said to be about the value `about`.
  Error error(std::uint32_t at, std::uint32_t about, const std::string& what,
              std::vector<std::string> hints) const;

  std::string name_;
  JsonRules rules_;
  std::string_view source_;  // of a strict document: its text, without a byte order mark
  // The tape, and the strings, each behind its length: simdjson's, or ours.
  const std::uint64_t* tape_ = nullptr;
  const char* strings_ = nullptr;
  std::unique_ptr<std::uint64_t[]> fast_tape_;
  std::unique_ptr<std::uint8_t[]> fast_strings_;
  std::vector<std::uint64_t> own_tape_;
  std::string own_strings_;
};

}  // namespace fxtrace
