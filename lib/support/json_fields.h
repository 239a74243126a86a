// Readers of JSON values that people write.  All functions throw the Error of JsonValue::fail(), with a
// message for users, when the value is of another kind.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/error.h"
#include "support/json_document.h"

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

}  // namespace fxtrace::internal
