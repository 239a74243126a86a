#include "trace/options/config_values.h"

#include <utility>

namespace fxtrace::internal {
namespace {

// This is less than the limit of a configuration, so that values can be read again from inside the text that
// options_json() writes.
constexpr int kMaxValueDepth = 24;

void check_depth(const JsonValue& value, int depth) {
  if (depth >= kMaxValueDepth) value.fail("nested too deeply");
}

}  // namespace

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

}  // namespace fxtrace::internal
