// The JSON reader: a text is parsed once into a flat array, which views traverse, without an allocation per
// node.  Time and memory for hostile texts are limited, and every error has a place.
//
// simdjson parses standard JSON.  What it refuses is scanned for the error and its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace fxtrace::internal {

class JsonDocument;
class JsonEmitter;

// Accepted syntax, limits, and the form of errors.
struct JsonRules {
  ErrorKind error = ErrorKind::kInput;
  std::size_t max_depth = 4'000;  // nested arrays and objects
  // Not strict: as in Python's json module, the last of equal keys counts; Infinity, -Infinity and NaN become
  // strings; errors name the path of a value ("graph.nodes[12].inputs[0]").  Strict, for text that people may
  // have written: duplicate keys and these numbers are errors, and errors are at "FILE:LINE:COLUMN" with a
  // JSON pointer.
  bool strict = false;
  std::size_t max_values = 40'000'000;  // the limit on values, keys included
};

// A view of one value, valid as long as its document.  Every accessor throws the Error of fail() when the
// value is of another kind.
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
  double number() const;  // also for integers, and for the strings "Infinity", "-Infinity" and "NaN"
  std::string_view string() const;
  std::string_view key() const;  // the key of an object's field

  // Iterates over the elements of an array, or the values of an object.
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
    std::uint32_t at_;  // the node of the element; for an object, of the key
    bool object_;
  };
  struct Range {
    Iterator first, last;
    Iterator begin() const { return first; }
    Iterator end() const { return last; }
    bool empty() const { return !(first != last); }
  };
  Range items() const;   // the elements of an array
  Range fields() const;  // the values of an object

  // Returns the field of an object, the last one of that name, as in Python; nothing when it is absent or
  // null.
  std::optional<JsonValue> find(std::string_view key) const;
  std::optional<JsonValue> find_or_null(std::string_view key) const;  // returns a null, too
  JsonValue at(std::string_view key) const;
  // The field of an object that has exactly one, by which the schema of exported programs represents a
  // union.
  struct Alternative;
  Alternative alternative() const;

  void write(JsonEmitter& json) const;

  // Returns whether both have the same content, with the fields of objects in the same order.
  bool equals(const JsonValue& other) const;

  // Throws an Error with the message `what` at the place of this value, or of its key.
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

// A text that the document takes over: it is parsed without a copy and freed afterwards.
struct JsonText {
  std::string text;
};

class JsonDocument {
 public:
  static constexpr std::size_t kMaxText = 1'000'000'000;  // bytes
  // Bytes that simdjson may read beyond a text.  A JsonText with that much spare capacity is not copied.
  static constexpr std::size_t kPadding = 64;

  // `name` is the text's name in errors.  Throws Error for malformed JSON and beyond a limit.  In strict
  // mode, the text must outlive the document, as errors find their line in it.
  JsonDocument(std::string_view text, std::string name, JsonRules rules = {});
  JsonDocument(JsonText text, std::string name, JsonRules rules = {});  // not strict
  JsonDocument(const JsonDocument&) = delete;                           // views point to the document
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonValue root() const { return {this, 0}; }

 private:
  friend class JsonValue;
  friend class JsonBuilder;

  // A value or key; the content of an array or object follows it.  Packed into one word, as graphs have
  // millions.
  class Node {
   public:
    Node(JsonValue::Kind kind, std::size_t extent, std::size_t content)
        : bits_(static_cast<std::uint64_t>(kind) << (2 * kBits) | extent << kBits | content) {}
    JsonValue::Kind kind() const { return static_cast<JsonValue::Kind>(bits_ >> (2 * kBits)); }
    // For a text, the number of its bytes; for an array or object, the position after its content.
    std::uint32_t extent() const { return static_cast<std::uint32_t>(bits_ >> kBits) & kMask; }
    // For a text, its offset in texts_; for a number, its index in numbers_.
    std::uint32_t content() const { return static_cast<std::uint32_t>(bits_) & kMask; }

   private:
    static constexpr unsigned kBits = 30;
    static constexpr std::uint32_t kMask = (1U << kBits) - 1;
    static_assert(kMaxText <= kMask);
    std::uint64_t bits_;
  };

  // Returns the position after this value and its content.
  std::uint32_t next(std::uint32_t at) const {
    return nodes_[at].kind() < JsonValue::Kind::kArray ? at + 1 : nodes_[at].extent();
  }
  std::string_view text(std::uint32_t at) const {
    return {texts_.data() + nodes_[at].content(), nodes_[at].extent()};
  }
  std::uint64_t number(std::uint32_t at) const { return numbers_[nodes_[at].content()]; }

  void parse(std::string text);
  bool parse_fast(std::string& text);
  [[noreturn]] void refuse(const std::string& what, std::size_t position) const;
  [[noreturn]] void refuse_long() const;
  std::string path(std::uint32_t at) const;
  std::size_t position(std::size_t values) const;
  std::string line_and_column(std::size_t position) const;
  // Makes an error at the value or key `at`; its path is that of the value `about`.
  Error error(std::uint32_t at, std::uint32_t about, const std::string& what,
              std::vector<std::string> hints) const;

  std::string name_;
  JsonRules rules_;
  std::string_view source_;  // the text of a strict document, without byte order mark
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> numbers_;  // the bits of integers and doubles
  std::string texts_;
};

inline JsonValue::Kind JsonValue::kind() const { return document_->nodes_[at_].kind(); }

inline std::string_view JsonValue::key() const { return document_->text(at_ - 1); }

inline JsonValue::Iterator& JsonValue::Iterator::operator++() {
  at_ = document_->next(object_ ? at_ + 1 : at_);
  return *this;
}

inline JsonValue JsonValue::Iterator::operator*() const { return {document_, object_ ? at_ + 1 : at_}; }

inline std::string_view JsonValue::Iterator::key() const { return document_->text(at_); }

}  // namespace fxtrace::internal
