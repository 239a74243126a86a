// Readers of JSON values that people write.  All functions throw the Error of JsonValue::fail(), with a
// message for users, when the value is of another kind.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/error.h"
#include "support/json_document.h"
#include "support/shared.h"

namespace fxtrace::internal {

// `what` describes the expected value in messages: "an array of rules".
JsonValue::Range object_fields(const JsonValue& value, const std::string& what);
JsonValue::Range array_items(const JsonValue& value, const std::string& what);
void check_keys(const JsonValue& object, const std::vector<std::string>& known, const std::string& what);
// Checks the keys of a document of this format, and what it says of itself: "$schema", "format" and
// "version" may be absent.
void check_document(const JsonValue& root, const std::string& format, std::vector<std::string> keys,
                    const std::string& what);

std::string read_string(const JsonValue& value);
bool read_boolean(const JsonValue& value);
std::int64_t read_integer(const JsonValue& value, std::int64_t least);
std::string read_choice(const JsonValue& value, const std::vector<std::string>& choices);
// Calls f for a string, or for each string of an array.
void for_each_string(const JsonValue& value, const std::function<void(JsonValue, const std::string&)>& f);

// Runs f and rethrows its errors with the position of `value`, unless they have a place.
template <class F>
void at_place_of(const JsonValue& value, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    if (!error.place().empty()) throw;
    value.fail(error.what(), error.hints());
  }
}

// Reads records from JSON by their descriptions; graph/collection_fields.h says what they are.

// The fields of one object, looked up by name.  They are nearly always in the order in which they are looked
// up, and then no search is needed.
class JsonFields {
 public:
  explicit JsonFields(const JsonValue& object)
      : object_(object), next_(object.fields().begin()), end_(object.fields().end()) {}

  std::optional<JsonValue> find(std::string_view key) {  // also returns a null
    known_[count_++] = key;
    const auto value = peek(key);
    if (value && next_.key() == key) ++next_;
    return value;
  }
  std::optional<JsonValue> peek(std::string_view key) const {
    if (!(next_ != end_)) return std::nullopt;  // every field was the next one
    return next_.key() == key ? *next_ : object_.find_or_null(key);
  }
  JsonValue at(std::string_view key) {
    const auto value = find(key);
    if (!value) object_.fail("\"" + std::string(key) + "\" is missing");
    return *value;
  }
  // Calls f with every field that was not looked up.
  template <class F>
  void others(F&& f) const {
    if (!(next_ != end_)) return;
    const auto known = std::span(known_).first(count_);
    for (const JsonValue value : object_.fields()) {
      if (std::find(known.begin(), known.end(), value.key()) == known.end()) f(value);
    }
  }
  void no_others() const {
    others([](const JsonValue& value) { value.fail_at_key("unknown field"); });
  }

 private:
  const JsonValue object_;
  JsonValue::Iterator next_, end_;
  std::array<std::string_view, 24> known_;
  std::size_t count_ = 0;
};

inline std::int64_t integer_from(std::int64_t least, const JsonValue& value) {
  const std::int64_t number = value.integer();
  if (number < least) value.fail("expected an integer of at least " + std::to_string(least));
  return number;
}

// An `io` of describe(), which says what the verbs mean.  A Reader derives from it.  It has the last
// enumerators of its enumerations in a tuple `kLast`, may read types of its own with further read(), and may
// have a record() or object() of its own.
template <class Reader>
class FieldReader {
 public:
  void field(std::string_view name, auto& result, std::int64_t least = 0) {
    self().read(fields_->at(name), result, least);
  }
  void nullable(std::string_view name, auto& result, std::int64_t least = 0) {
    if (const JsonValue value = fields_->at(name); !value.is_null()) self().read(value, result, least);
  }
  void optional(std::string_view name, auto& result) {
    if (const auto value = fields_->find(name)) self().read(*value, result, 0);
  }
  void added(std::string_view name, auto& result) { optional(name, result); }
  void derived(std::string_view name, const auto& /*value*/) { fields_->at(name); }
  bool has(std::string_view name, const auto&) const { return fields_->peek(name).has_value(); }
  void named(std::string_view name, std::size_t& index, const auto& list, auto member) {
    const JsonValue value = fields_->at(name);
    const auto found = std::ranges::find(list, value.string(), member);
    if (found == list.end()) value.fail("there is none with the name '" + std::string(value.string()) + "'");
    index = static_cast<std::size_t>(found - list.begin());
  }
  void lines(std::string_view name, auto& list, auto&& f) {
    for (const JsonValue item : fields_->at(name).items()) {
      self().object(item, [&] { f(list.emplace_back()); });
    }
  }

 protected:
  friend Reader;

  void object(const JsonValue& value, auto&& read_fields) {
    JsonFields fields(value);
    JsonFields* const outer = std::exchange(fields_, &fields);
    read_fields();
    fields_ = outer;
    fields.no_others();
  }
  void record(const JsonValue& value, auto& result) {
    self().object(value, [&] { describe(self(), result); });
  }

  // An enumerator or a record.
  template <class T>
  void read(const JsonValue& value, T& result, std::int64_t /*least*/ = 0) {
    if constexpr (std::is_enum_v<T>) {
      result = enumerator<T>(value);
    } else {
      self().record(value, result);
    }
  }
  template <class T>
  void read(const JsonValue& value, Shared<T>& result, std::int64_t least = 0) {
    T own{};
    self().read(value, own, least);
    result = std::move(own);
  }
  template <class T>
  void read(const JsonValue& value, std::optional<T>& result, std::int64_t least = 0) {
    self().read(value, result.emplace(), least);
  }
  template <class T>
  void read(const JsonValue& value, std::vector<T>& result, std::int64_t least = 0) {
    for (const JsonValue item : value.items()) self().read(item, result.emplace_back(), least);
  }
  template <class T>
  void read(const JsonValue& value, std::vector<std::pair<std::string, T>>& result, std::int64_t = 0) {
    for (const JsonValue item : value.fields()) {
      self().read(item, result.emplace_back(std::string(item.key()), T{}).second);
    }
  }
  void read(const JsonValue& value, std::map<std::string, std::int64_t>& result, std::int64_t least = 0) {
    for (const JsonValue item : value.fields()) result.emplace(item.key(), integer_from(least, item));
  }
  void read(const JsonValue& value, std::string& result, std::int64_t = 0) { result = value.string(); }
  void read(const JsonValue& value, bool& result, std::int64_t = 0) { result = value.boolean(); }
  void read(const JsonValue& value, std::int64_t& result, std::int64_t least = 0) {
    result = integer_from(least, value);
  }
  void read(const JsonValue& value, std::size_t& result, std::int64_t least = 0) {
    result = static_cast<std::size_t>(integer_from(least, value));
  }

  JsonFields* fields_ = nullptr;  // of the current object

 private:
  FieldReader() = default;
  friend Reader;
  Reader& self() { return static_cast<Reader&>(*this); }

  // Returns the one whose to_string() is the text.
  template <class Enum>
  static Enum enumerator(const JsonValue& value) {
    const std::string_view text = value.string();
    std::string names;
    for (int i = 0; i <= static_cast<int>(std::get<Enum>(Reader::kLast)); ++i) {
      const auto candidate = static_cast<Enum>(i);
      if (text == to_string(candidate)) return candidate;
      names += std::string(names.empty() ? "" : ", ") + to_string(candidate);
    }
    value.fail("expected one of " + names);
  }
};

}  // namespace fxtrace::internal
