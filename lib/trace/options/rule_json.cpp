#include "trace/options/rule_json.h"

#include <cstddef>
#include <utility>

#include "support/text/glob.h"
#include "trace/options/config_values.h"
#include "trace/options/predicate.h"

namespace fxtrace::internal {
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
