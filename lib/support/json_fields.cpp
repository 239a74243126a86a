#include "support/json_fields.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "support/text/did_you_mean.h"

namespace fxtrace::internal {

JsonValue::Range object_fields(const JsonValue& value, const std::string& what) {
  if (!value.is_object()) value.fail("expected " + what);
  return value.fields();
}

JsonValue::Range array_items(const JsonValue& value, const std::string& what) {
  if (!value.is_array()) value.fail("expected " + what);
  return value.items();
}

void check_keys(const JsonValue& object, const std::vector<std::string>& known, const std::string& what) {
  for (const JsonValue value : object.fields()) {
    const std::string key(value.key());
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    value.fail_at_key("unknown " + what + " '" + key + "'" + did_you_mean(key, known));
  }
}

void check_document(const JsonValue& root, const std::string& format, std::vector<std::string> keys,
                    const std::string& what) {
  keys.insert(keys.end(), {"$schema", "format", "version"});
  check_keys(root, keys, what);
  if (const auto schema = root.find_or_null("$schema")) read_string(*schema);
  if (const auto given = root.find_or_null("format")) read_choice(*given, {format});
  if (const auto version = root.find_or_null("version"); version && read_integer(*version, 1) != 1)
    version->fail("this version of fxtrace reads version 1");
}

std::string read_string(const JsonValue& value) {
  const std::string_view text = value.string();
  if (text.empty()) value.fail("expected a non-empty string");
  return std::string(text);
}

bool read_boolean(const JsonValue& value) {
  if (!value.is_boolean()) value.fail("expected a boolean");
  return value.boolean();
}

std::int64_t read_integer(const JsonValue& value, std::int64_t least) {
  std::optional<std::int64_t> number;
  if (value.kind() == JsonValue::Kind::kInteger) number = value.integer();
  if (value.kind() == JsonValue::Kind::kNumber) {
    // In JSON Schema, 2.0 is an integer too.
    const double real = value.number();
    if (std::trunc(real) == real && std::abs(real) < 1e15) number = static_cast<std::int64_t>(real);
  }
  if (!number || *number < least) {
    value.fail("expected an integer of at least " + std::to_string(least));
  }
  return *number;
}

std::string read_choice(const JsonValue& value, const std::vector<std::string>& choices) {
  if (value.is_string() && std::find(choices.begin(), choices.end(), value.string()) != choices.end()) {
    return std::string(value.string());
  }
  std::string list;
  for (const auto& word : choices) list += (list.empty() ? "\"" : " or \"") + word + "\"";
  value.fail("expected " + list);
}

void for_each_string(const JsonValue& value, const std::function<void(JsonValue, const std::string&)>& f) {
  if (value.is_string()) return f(value, read_string(value));
  for (const JsonValue item : array_items(value, "a string or an array of strings")) {
    f(item, read_string(item));
  }
}

}  // namespace fxtrace::internal
