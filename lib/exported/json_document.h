// A JSON text as it is read by the loader of exported programs: parsed once into one flat array, walked by
// views.  Megabytes of nodes cost no allocation each, and what a hostile text may cost has limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

class JsonDocument;

// A view of one value; valid while its document lives.  Every accessor throws Error(kInput) with the place in
// the text ("graph.nodes[12].inputs[0]") when the value is not what is asked for.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kInteger, kNumber, kString, kArray, kObject };

  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_array() const { return kind() == Kind::kArray; }
  bool is_object() const { return kind() == Kind::kObject; }

  bool boolean() const;
  std::int64_t integer() const;
  double number() const;  // an integer too, and the strings "Infinity", "-Infinity" and "NaN"
  std::string_view string() const;

  // Elements of an array, values of an object; key() tells an object's keys.
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
  };
  Range items() const;   // of an array
  Range fields() const;  // of an object

  // Field of an object; the last of that name, as Python reads it.  Absent, or null: nothing.
  std::optional<JsonValue> find(std::string_view key) const;
  JsonValue at(std::string_view key) const;
  // The one field of an object that has exactly one: how the schema of exported programs writes a union.
  struct Alternative;
  Alternative alternative() const;

  // Whether both are the same text; fields of objects in the same order.
  bool equals(const JsonValue& other) const;

  // Throws Error(kInput): `what` at this value's place.
  [[noreturn]] void fail(const std::string& what) const;

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

class JsonDocument {
 public:
  static constexpr std::size_t kMaxDepth = 4'000;         // nested arrays and objects
  static constexpr std::size_t kMaxValues = 40'000'000;   // keys included
  static constexpr std::size_t kMaxText = 1'000'000'000;  // bytes

  // `what` names the text in errors.  Throws Error(kInput) for what is no JSON and for what exceeds a limit.
  JsonDocument(std::string_view text, std::string what);
  JsonDocument(const JsonDocument&) = delete;  // views point here
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonValue root() const { return {this, 0}; }

 private:
  friend class JsonValue;
  friend class JsonReader;

  struct Text {
    std::uint32_t offset, length;
  };
  struct Entry {
    JsonValue::Kind kind;
    std::uint32_t next;  // behind this value and all it holds
    union {
      std::int64_t integer;
      double number;
      Text text;
    };
  };

  std::string place(std::uint32_t at) const;
  std::string_view text(std::uint32_t at) const {
    const auto& entry = entries_[at];
    return std::string_view(strings_).substr(entry.text.offset, entry.text.length);
  }

  std::string what_;
  std::vector<Entry> entries_;  // in the order of the text; an object's are key, value, key, value
  std::string strings_;
};

}  // namespace fxtrace
