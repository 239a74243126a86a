#include "trace/config_values.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "support/nearest.h"

namespace fxtrace {
namespace {

// Less than a configuration's own limit: with what options_json() writes around it, it is read again.
constexpr int kMaxValueDepth = 24;

void check_depth(const JsonValue& value, int depth) {
  if (depth >= kMaxValueDepth) value.fail("nested too deeply");
}

}  // namespace

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
    const std::string nearest = find_nearest(key, known);
    value.fail_at_key("unknown " + what + " '" + key + "'" +
                      (nearest.empty() ? "" : ", did you mean '" + nearest + "'?"));
  }
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
    // To JSON Schema 2.0 is an integer too.
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

Argument read_plain(const JsonValue& value, int depth) {
  switch (value.kind()) {
    case JsonValue::Kind::kNull:
      return Argument(Argument::None{});
    case JsonValue::Kind::kFalse:
    case JsonValue::Kind::kTrue:
      return Argument(value.boolean());
    case JsonValue::Kind::kInteger:
      return Argument(value.integer());
    case JsonValue::Kind::kNumber:
      return Argument(value.number());
    case JsonValue::Kind::kString:
      return Argument(std::string(value.string()));
    case JsonValue::Kind::kArray: {
      check_depth(value, depth);
      Argument::List list;
      for (const JsonValue item : value.items()) list.items.push_back(read_plain(item, depth + 1));
      return Argument(std::move(list));
    }
    case JsonValue::Kind::kObject:
      break;
  }
  value.fail("expected null, a boolean, a number, a string or an array of them");
}

Argument read_argument(const JsonValue& value, int depth) {
  if (value.is_object()) {
    check_depth(value, depth);
    Argument::Dict dict;
    for (const JsonValue item : value.fields()) {
      dict.items.push_back({std::string(item.key()), read_argument(item, depth + 1)});
    }
    return Argument(std::move(dict));
  }
  if (value.is_array()) {
    check_depth(value, depth);
    Argument::List list;
    for (const JsonValue item : value.items()) list.items.push_back(read_argument(item, depth + 1));
    return Argument(std::move(list));
  }
  return read_plain(value);
}

void write_value(const Argument& value, JsonEmitter& json) {
  if (const auto* boolean = value.get_if<bool>()) return json.value(*boolean);
  if (const auto* integer = value.get_if<std::int64_t>()) return json.value(*integer);
  if (const auto* number = value.get_if<double>()) return json.value(*number);
  if (const auto* text = value.get_if<std::string>()) return json.value(*text);
  if (const auto* list = value.get_if<Argument::List>())
    return json.list(list->items, [&](const Argument& item) { write_value(item, json); });
  const auto* dict = value.get_if<Argument::Dict>();
  if (dict == nullptr) return json.null();
  json.object([&] {
    for (const auto& [key, item] : dict->items) {
      json.key(*key.get_if<std::string>());
      write_value(item, json);
    }
  });
}

}  // namespace fxtrace
