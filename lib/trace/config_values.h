// Values of a configuration, with messages for people.  All throw the Error of JsonValue::fail().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/argument.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/json_emitter.h"

namespace fxtrace {

// `what` is what was expected: "an array of rules".
JsonValue::Range object_fields(const JsonValue& value, const std::string& what);
JsonValue::Range array_items(const JsonValue& value, const std::string& what);
void check_keys(const JsonValue& object, const std::vector<std::string>& known, const std::string& what);

std::string read_string(const JsonValue& value);
bool read_boolean(const JsonValue& value);
std::int64_t read_integer(const JsonValue& value, std::int64_t least);
std::string read_choice(const JsonValue& value, const std::vector<std::string>& choices);
// One string, or an array of strings.
void for_each_string(const JsonValue& value, const std::function<void(JsonValue, const std::string&)>& f);

// `depth` is that of the arrays and objects around it within the whole value, which may have 24.
Argument read_plain(const JsonValue& value, int depth = 0);     // no objects
Argument read_argument(const JsonValue& value, int depth = 0);  // any JSON
void write_value(const Argument& value, JsonEmitter& json);

// Runs f and gives its errors the place of `value`.
template <class F>
void at_place_of(const JsonValue& value, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    value.fail(error.what(), error.hints());
  }
}

}  // namespace fxtrace
