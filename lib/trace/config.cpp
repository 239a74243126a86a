#include "trace/config.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/glob.h"
#include "support/json_document.h"
#include "support/nearest.h"
#include "trace/input_spec.h"
#include "trace/leaf_rules.h"

namespace fxtrace {
namespace {

constexpr JsonRules kJsonRules{ErrorKind::kUsage, 32, true};

// --- what a configuration may say ---

class Reader {
 public:
  explicit Reader(Config& config) : config_(config) {}

  // Any JSON.
  static Argument any(const JsonValue& value) {
    if (value.is_object()) {
      Argument::Dict dict;
      for (const JsonValue item : value.fields()) dict.items.push_back({std::string(item.key()), any(item)});
      return Argument(std::move(dict));
    }
    if (value.is_array()) {
      Argument::List list;
      for (const JsonValue item : value.items()) list.items.push_back(any(item));
      return Argument(std::move(list));
    }
    return plain(value);
  }

  void read(const JsonValue& root) {
    object(root, "an object with options");
    if (const auto format = root.find_or_null("format")) {
      format->fail_at_key(
          "unknown option 'format': this looks like a whole collection; use the value of its 'options'");
    }
    check_keys(root, config_keys(), "option");
    // In this order, whatever the order of the keys in the file: exceptions come after what they except.
    TraceOptions& options = config_.options;
    on(root, "$schema", [&](JsonValue v) { string(v); });
    on(root, "method", [&](JsonValue v) { options.method = string(v); });
    on(root, "model", [&](JsonValue v) { options.model = string(v); });
    on(root, "default_leaves", [&](JsonValue v) { options.default_leaves = boolean(v); });
    on(root, "max_depth", [&](JsonValue v) { options.max_depth = integer(v, 0); });
    on(root, "rules", [&](JsonValue v) {
      for (const JsonValue item : array(v, "an array of rules")) rule(item);
    });
    on(root, "leaf", [&](JsonValue v) { leaf_rules(v, true); });
    on(root, "no_leaf", [&](JsonValue v) { leaf_rules(v, false); });
    on(root, "wrap", [&](JsonValue v) { wrap_rules(v, true); });
    on(root, "no_wrap", [&](JsonValue v) { wrap_rules(v, false); });
    on(root, "hooks", [&](JsonValue v) {
      options.hooks = one_of(v, {"run", "skip"}) == "run" ? Hooks::kRun : Hooks::kSkip;
    });
    on(root, "concrete", [&](JsonValue v) {
      for (const JsonValue value : object(v, "an object: inputs and their values")) {
        options.concrete.push_back({std::string(value.key()), any(value)});
      }
    });
    on(root, "input_names", [&](JsonValue v) {
      options.input_names.emplace();
      append(v, *options.input_names);
    });
    on(root, "input", [&](JsonValue v) {
      for (const JsonValue value : object(v, "an object: inputs and their specs")) {
        const std::string name(value.key());
        const std::string text = string(value);
        checked(value, [&] { options.inputs.push_back(make_input_spec(name, text)); });
      }
    });
    on(root, "dim", [&](JsonValue v) {
      for (const JsonValue value : object(v, "an object: dimensions and their ranges")) {
        const std::string name(value.key());
        const std::string text = string(value);
        checked(value, [&] { options.dimensions.push_back(make_dimension_range(name, text)); });
      }
    });
    on(root, "defaults", [&](JsonValue v) {
      options.defaults = one_of(v, {"needed", "never"}) == "needed" ? Defaults::kNeeded : Defaults::kNever;
    });
    on(root, "param_shapes_constant", [&](JsonValue v) { options.param_shapes_constant = boolean(v); });
    on(root, "op_library", [&](JsonValue v) { append(v, options.op_libraries); });
    on(root, "op_schema", [&](JsonValue v) { append(v, options.op_schemas); });
    on(root, "strict", [&](JsonValue v) { config_.strict = boolean(v); });
    on(root, "max_iterations", [&](JsonValue v) { options.limits.iterations = integer(v, 1); });
    on(root, "max_nodes", [&](JsonValue v) { options.limits.nodes = integer(v, 1); });
    on(root, "max_call_depth", [&](JsonValue v) { options.limits.call_depth = integer(v, 1); });
  }

 private:
  static void on(const JsonValue& object, std::string_view key, const std::function<void(JsonValue)>& f) {
    if (const auto value = object.find_or_null(key)) f(*value);
  }
  static void check_keys(const JsonValue& object, const std::vector<std::string>& known,
                         const std::string& what) {
    for (const JsonValue value : object.fields()) {
      const std::string key(value.key());
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const std::string nearest = find_nearest(key, known);
      value.fail_at_key("unknown " + what + " '" + key + "'" +
                        (nearest.empty() ? "" : ", did you mean '" + nearest + "'?"));
    }
  }

  static JsonValue::Range object(const JsonValue& value, const std::string& what) {
    if (!value.is_object()) value.fail("expected " + what);
    return value.fields();
  }
  static JsonValue::Range array(const JsonValue& value, const std::string& what) {
    if (!value.is_array()) value.fail("expected " + what);
    return value.items();
  }
  static std::string string(const JsonValue& value) {
    const std::string_view text = value.string();
    if (text.empty()) value.fail("expected a non-empty string");
    return std::string(text);
  }
  static bool boolean(const JsonValue& value) {
    if (!value.is_boolean()) value.fail("expected a boolean");
    return value.boolean();
  }
  static std::int64_t integer(const JsonValue& value, std::int64_t least) {
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
  static std::string one_of(const JsonValue& value, const std::vector<std::string>& allowed) {
    if (value.is_string() && std::find(allowed.begin(), allowed.end(), value.string()) != allowed.end()) {
      return std::string(value.string());
    }
    std::string list;
    for (const auto& word : allowed) list += (list.empty() ? "\"" : " or \"") + word + "\"";
    value.fail("expected " + list);
  }
  // One string, or an array of strings.
  static void for_each_string(const JsonValue& value,
                              const std::function<void(JsonValue, const std::string&)>& f) {
    if (value.is_string()) return f(value, string(value));
    for (const JsonValue item : array(value, "a string or an array of strings")) f(item, string(item));
  }
  static void append(const JsonValue& value, std::vector<std::string>& list) {
    for_each_string(value, [&](JsonValue, const std::string& text) { list.push_back(text); });
  }

  // Runs f and gives its errors the place of `value`.
  template <class F>
  static void checked(const JsonValue& value, F&& f) {
    try {
      f();
    } catch (const Error& error) {
      value.fail(error.what(), error.hints());
    }
  }

  void leaf_rules(const JsonValue& value, bool leaf) {
    for_each_string(value, [&](JsonValue item, const std::string& text) {
      checked(item, [&] { config_.options.leaf_rules.push_back(parse_leaf_rule(text, leaf)); });
    });
  }
  void wrap_rules(const JsonValue& value, bool wrap) {
    for_each_string(value, [&](JsonValue item, const std::string& text) {
      checked(item, [&] {
        Glob check(text);
        config_.options.wrap_rules.push_back({text, wrap});
      });
    });
  }

  void rule(const JsonValue& value) {
    object(value, "a rule: an object");
    check_keys(value, rule_keys(), "key of a rule");
    const auto glob = [&](JsonValue v) {
      std::string text = string(v);
      checked(v, [&] { Glob check(text); });
      return text;
    };
    if (const auto function = value.find_or_null("function")) {
      WrapRule wrap_rule{glob(*function), true};
      on(value, "wrap", [&](JsonValue v) { wrap_rule.wrap = boolean(v); });
      for (const JsonValue item : value.fields()) {
        if (item.key() == "function" || item.key() == "wrap") continue;
        item.fail_at_key("'" + std::string(item.key()) + "' does not apply to a rule for functions");
      }
      config_.options.wrap_rules.push_back(std::move(wrap_rule));
      return;
    }
    LeafRule rule;
    on(value, "type", [&](JsonValue v) { rule.type_glob = glob(v); });
    on(value, "path", [&](JsonValue v) { rule.path_glob = glob(v); });
    on(value, "where", [&](JsonValue v) { where(v, rule.where); });
    on(value, "leaf", [&](JsonValue v) { rule.leaf = boolean(v); });
    on(value, "wrap", [&](JsonValue v) { v.fail_at_key("'wrap' needs 'function'"); });
    if (!rule.type_glob && !rule.path_glob && rule.where.empty()) {
      value.fail("a rule needs 'type', 'path', 'where' or 'function'");
    }
    rule.text = rule_text(rule);
    config_.options.leaf_rules.push_back(std::move(rule));
  }

  // {"groups": {">": 1}}, or {"groups": 1} for "==".
  static void where(const JsonValue& value, std::vector<Predicate>& predicates) {
    if (object(value, "an object with conditions").empty()) value.fail("expected at least one condition");
    for (const JsonValue condition : value.fields()) {
      const std::string attribute(condition.key());
      if (!condition.is_object()) {
        predicates.push_back({attribute, "==", plain(condition)});
        continue;
      }
      if (condition.fields().empty()) condition.fail("expected a comparison such as {\">\": 1}");
      check_keys(condition, {"==", "!=", "<", "<=", ">", ">="}, "comparison");
      for (const JsonValue wanted : condition.fields()) {
        predicates.push_back({attribute, std::string(wanted.key()), plain(wanted)});
      }
    }
  }

  static Argument plain(const JsonValue& value) {
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
        Argument::List list;
        for (const JsonValue item : value.items()) list.items.push_back(plain(item));
        return Argument(std::move(list));
      }
      case JsonValue::Kind::kObject:
        break;
    }
    value.fail("expected null, a boolean, a number, a string or an array of them");
  }

  static std::string rule_text(const LeafRule& rule);

  Config& config_;
};

// --- writing ---

nlohmann::ordered_json to_json(const Argument& value) {
  if (const auto* boolean = value.get_if<bool>()) return *boolean;
  if (const auto* integer = value.get_if<std::int64_t>()) return *integer;
  if (const auto* number = value.get_if<double>()) return *number;
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* list = value.get_if<Argument::List>()) {
    auto json = nlohmann::ordered_json::array();
    for (const auto& item : list->items) json.push_back(to_json(item));
    return json;
  }
  if (const auto* dict = value.get_if<Argument::Dict>()) {
    auto json = nlohmann::ordered_json::object();
    for (const auto& [key, item] : dict->items) json[*key.get_if<std::string>()] = to_json(item);
    return json;
  }
  return nullptr;
}

// Each name once, with what all of its ranges have in common.
std::vector<DimensionRange> merged(const std::vector<DimensionRange>& ranges) {
  std::vector<DimensionRange> result;
  for (const DimensionRange& range : ranges) {
    const auto same = std::find_if(result.begin(), result.end(),
                                   [&](const DimensionRange& other) { return other.name == range.name; });
    if (same == result.end()) {
      result.push_back(range);
      continue;
    }
    if (range.low) same->low = std::max(*range.low, same->low.value_or(*range.low));
    if (range.high) same->high = std::min(*range.high, same->high.value_or(*range.high));
  }
  return result;
}

// Options come from command lines too, which need not be UTF-8.
std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string base_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// As it would stand on the command line, with the conditions behind: "torch.nn.Conv2d where groups > 1".
std::string Reader::rule_text(const LeafRule& rule) {
  std::string text = rule.type_glob.value_or("");
  if (rule.path_glob) text += "@" + *rule.path_glob;
  for (std::size_t i = 0; i < rule.where.size(); ++i) {
    const Predicate& predicate = rule.where[i];
    text += i == 0 ? (text.empty() ? "where " : " where ") : " and ";
    text += predicate.attribute + " " + predicate.op + " " + dump(to_json(predicate.value));
  }
  return text;
}

}  // namespace

std::vector<std::string> config_keys() {
  return {"$schema",
          "method",
          "model",
          "rules",
          "leaf",
          "no_leaf",
          "default_leaves",
          "max_depth",
          "wrap",
          "no_wrap",
          "hooks",
          "concrete",
          "input_names",
          "input",
          "dim",
          "defaults",
          "param_shapes_constant",
          "op_library",
          "op_schema",
          "strict",
          "max_iterations",
          "max_nodes",
          "max_call_depth"};
}

std::vector<std::string> rule_keys() { return {"type", "path", "where", "leaf", "function", "wrap"}; }

Argument parse_concrete(std::string_view text, const std::string& what) {
  return Reader::any(JsonDocument(text, what, kJsonRules).root());
}

void read_config(std::string_view text, const std::string& file, Config& config) {
  Reader(config).read(JsonDocument(text, file, kJsonRules).root());
}

std::string options_json(const TraceOptions& options, bool strict) {
  const TraceOptions defaults;
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (options.method != defaults.method) json["method"] = options.method;
  if (options.model) json["model"] = *options.model;
  for (const LeafRule& rule : options.leaf_rules) {
    nlohmann::ordered_json item = nlohmann::ordered_json::object();
    if (rule.type_glob) item["type"] = *rule.type_glob;
    if (rule.path_glob) item["path"] = *rule.path_glob;
    for (const Predicate& predicate : rule.where) {
      item["where"][predicate.attribute][predicate.op] = to_json(predicate.value);
    }
    item["leaf"] = rule.leaf;
    json["rules"].push_back(std::move(item));
  }
  for (const WrapRule& rule : options.wrap_rules) {
    json["rules"].push_back({{"function", rule.glob}, {"wrap", rule.wrap}});
  }
  if (options.default_leaves != defaults.default_leaves) json["default_leaves"] = options.default_leaves;
  if (options.max_depth) json["max_depth"] = *options.max_depth;
  if (options.hooks != defaults.hooks) json["hooks"] = "skip";
  for (const auto& [name, value] : options.concrete) json["concrete"][name] = to_json(value);
  if (options.input_names) json["input_names"] = *options.input_names;
  for (const InputSpec& input : options.inputs) json["input"][input.name] = input.text;
  for (const DimensionRange& range : merged(options.dimensions)) json["dim"][range.name] = range_text(range);
  if (options.defaults != defaults.defaults) json["defaults"] = "never";
  if (options.param_shapes_constant) json["param_shapes_constant"] = true;
  for (const auto& library : options.op_libraries) json["op_library"].push_back(base_name(library));
  for (const auto& schema : options.op_schemas) json["op_schema"].push_back(schema);
  if (strict) json["strict"] = true;
  if (options.limits.iterations != defaults.limits.iterations)
    json["max_iterations"] = options.limits.iterations;
  if (options.limits.nodes != defaults.limits.nodes) json["max_nodes"] = options.limits.nodes;
  if (options.limits.call_depth != defaults.limits.call_depth)
    json["max_call_depth"] = options.limits.call_depth;
  return dump(json);
}

}  // namespace fxtrace
