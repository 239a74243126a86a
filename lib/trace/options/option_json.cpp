#include "trace/options/option_json.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <optional>
#include <utility>

#include "graph/analysis/fold_numbers.h"
#include "operators/names/allow_lists.h"
#include "support/error.h"
#include "support/json_fields.h"
#include "support/text/glob.h"

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

namespace {

// Returns the order of two values; absent when they are of kinds that are never equal and have no order.
std::optional<std::partial_ordering> compare(const Argument& a, const Argument& b) {
  const auto left = number_of(a), right = number_of(b);
  if (left && right) return internal::compare(*left, *right);
  const auto* left_text = a.get_if<std::string>();
  const auto* right_text = b.get_if<std::string>();
  if (left_text != nullptr && right_text != nullptr) return *left_text <=> *right_text;
  const auto* left_items = items_of(a);
  const auto* right_items = items_of(b);
  if (left_items != nullptr && right_items != nullptr) {
    const std::size_t common = std::min(left_items->size(), right_items->size());
    for (std::size_t i = 0; i < common; ++i) {
      const auto order = compare((*left_items)[i], (*right_items)[i]);
      if (!order || *order != 0) return order ? order : std::partial_ordering::unordered;
    }
    return left_items->size() <=> right_items->size();
  }
  if (a.is<Argument::None>() && b.is<Argument::None>()) return std::partial_ordering::equivalent;
  return std::nullopt;
}

}  // namespace

bool holds(const Predicate& predicate, const Argument& actual) {
  if (predicate.op == "in") {
    const std::vector<Argument>* choices = items_of(predicate.value);
    return choices != nullptr && std::ranges::any_of(*choices, [&](const Argument& choice) {
             return compare(actual, choice) == std::partial_ordering::equivalent;
           });
  }
  const auto order = compare(actual, predicate.value);
  // Values of different kinds are not equal, but have no order.
  if (!order) return predicate.op == "!=";
  const bool none = actual.is<Argument::None>();
  const PythonOperator* known = operator_of_symbol(predicate.op);
  if (known == nullptr || !known->relation) throw usage_error("unknown comparison '" + predicate.op + "'");
  const bool is_ordered = *known->relation != Relation::kEqual && *known->relation != Relation::kNotEqual;
  return !(none && is_ordered) && internal::holds(*known->relation, *order);
}

std::vector<Predicate> read_where(const JsonValue& value) {
  std::vector<Predicate> predicates;
  if (object_fields(value, "an object with conditions").empty()) {
    value.fail("expected at least one condition");
  }
  for (const JsonValue condition : value.fields()) {
    const std::string attribute(condition.key());
    if (!condition.is_object()) {
      predicates.push_back({attribute, "==", read_plain(condition)});
      continue;
    }
    if (condition.fields().empty()) condition.fail("expected a comparison such as {\">\": 1}");
    check_keys(condition, {"==", "!=", "<", "<=", ">", ">=", "in"}, "comparison");
    for (const JsonValue wanted : condition.fields()) {
      if (wanted.key() == "in") array_items(wanted, "an array of values");
      predicates.push_back({attribute, std::string(wanted.key()), read_plain(wanted)});
    }
  }
  return predicates;
}

void write_where(const std::vector<Predicate>& where, JsonEmitter& json) {
  for (std::size_t i = 0; i < where.size();) {
    const std::string& attribute = where[i].attribute;
    json.key(attribute).object([&] {
      for (; i < where.size() && where[i].attribute == attribute; ++i) {
        json.key(where[i].op);
        write_value(where[i].value, json);
      }
    });
  }
}

namespace {

std::string read_glob(const JsonValue& value) {
  std::string text = read_string(value);
  at_place_of(value, [&] { Glob check(text); });
  return text;
}

// Checks that all that a condition compares with are numbers.
void check_numbers(const JsonValue& condition) {
  if (condition.is_object()) {
    for (const JsonValue wanted : condition.fields()) check_numbers(wanted);
  } else if (condition.is_array()) {
    for (const JsonValue item : condition.items()) check_numbers(item);
  } else {
    condition.number();
  }
}

}  // namespace

std::string rule_text(const LeafRule& rule) {
  std::string text = rule.type_glob.value_or("");
  if (rule.path_glob) text += "@" + *rule.path_glob;
  for (std::size_t i = 0; i < rule.where.size(); ++i) {
    const Predicate& predicate = rule.where[i];
    text += i == 0 ? (text.empty() ? "where " : " where ") : " and ";
    text += predicate.attribute + " " + predicate.op + " ";
    text += json_text(JsonLayout::kCompact, [&](JsonEmitter& json) { write_value(predicate.value, json); });
  }
  return text;
}

std::vector<std::string> rule_keys() { return {"type", "path", "where", "leaf", "function", "wrap"}; }

void read_rule(const JsonValue& value, TraceOptions& options) {
  object_fields(value, "a rule: an object");
  check_keys(value, rule_keys(), "key of a rule");
  if (const auto function = value.find_or_null("function")) {
    WrapRule rule{read_glob(*function), true};
    if (const auto wrap = value.find_or_null("wrap")) rule.wrap = read_boolean(*wrap);
    for (const JsonValue item : value.fields()) {
      if (item.key() == "function" || item.key() == "wrap") continue;
      item.fail_at_key("'" + std::string(item.key()) + "' does not apply to a rule for functions");
    }
    options.wrap_rules.push_back(std::move(rule));
    return;
  }
  LeafRule rule;
  if (const auto type = value.find_or_null("type")) rule.type_glob = read_glob(*type);
  if (const auto path = value.find_or_null("path")) rule.path_glob = read_glob(*path);
  if (const auto where = value.find_or_null("where")) {
    rule.where = read_where(*where);
    for (const char* number : {"depth", "parameters"}) {
      if (const auto condition = where->find_or_null(number)) check_numbers(*condition);
    }
  }
  if (const auto leaf = value.find_or_null("leaf")) rule.leaf = read_boolean(*leaf);
  if (const auto wrap = value.find_or_null("wrap")) wrap->fail_at_key("'wrap' needs 'function'");
  if (!rule.type_glob && !rule.path_glob && rule.where.empty()) {
    value.fail("a rule needs 'type', 'path', 'where' or 'function'");
  }
  rule.text = rule_text(rule);
  options.leaf_rules.push_back(std::move(rule));
}

void write_rules(const TraceOptions& options, const char* name, JsonEmitter& json) {
  if (options.leaf_rules.empty() && options.wrap_rules.empty()) return;
  json.key(name);
  json.open('[');
  for (const LeafRule& rule : options.leaf_rules) {
    json.item();
    json.object([&] {
      if (rule.type_glob) json.field("type", *rule.type_glob);
      if (rule.path_glob) json.field("path", *rule.path_glob);
      if (!rule.where.empty()) json.key("where").object([&] { write_where(rule.where, json); });
      json.field("leaf", rule.leaf);
    });
  }
  for (const WrapRule& rule : options.wrap_rules) {
    json.item();
    json.object([&] {
      json.field("function", rule.glob);
      json.field("wrap", rule.wrap);
    });
  }
  json.close(']');
}

}  // namespace fxtrace::internal
