#include "trace/config.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/glob.h"
#include "support/nearest.h"
#include "trace/input_spec.h"
#include "trace/leaf_rules.h"

namespace fxtrace {
namespace {

constexpr std::size_t kMaxNesting = 32;
constexpr std::size_t kMaxKeys = 1'000;  // of one object

// --- JSON that knows where it stands in the file ---

struct Value {
  struct Array {
    std::vector<Value> items;
  };
  struct Object {
    std::vector<std::pair<std::string, Value>> items;  // in the order of the file
  };
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> value = nullptr;
  std::size_t position = 0;      // byte in the text
  std::size_t key_position = 0;  // of an object's item: where its key stands
  std::string pointer;           // JSON pointer

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value);
  }
};

std::string place_at(std::string_view text, const std::string& file, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const auto column =
      std::count_if(before.begin() + static_cast<std::ptrdiff_t>(start), before.end(),
                    [](char c) {
                      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // characters, not bytes
                    }) +
      1;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

// Lets the parser read the text and tells how far it has come.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    ++at_;
    if (reached_ != nullptr) *reached_ = at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// Builds a Value from the parser's events.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, const std::string& file) : text_(text), file_(file), reached_(text.data()) {}

  const char** reached() { return &reached_; }
  Value take() { return std::move(root_); }

  bool null() override { return add(nullptr, word_start()); }
  bool boolean(bool value) override { return add(value, word_start()); }
  bool number_integer(std::int64_t value) override { return add(value, word_start()); }
  bool number_unsigned(std::uint64_t value) override {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return add(static_cast<std::int64_t>(value), word_start());
    }
    return add(static_cast<double>(value), word_start());
  }
  bool number_float(double value, const std::string& /*text*/) override { return add(value, word_start()); }
  bool string(std::string& value) override { return add(std::move(value), string_start()); }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }

  bool start_object(std::size_t /*size*/) override { return open(Value::Object{}); }
  bool start_array(std::size_t /*size*/) override { return open(Value::Array{}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    auto& items = std::get<Value::Object>(open_.back()->value).items;
    const std::size_t position = string_start();
    if (items.size() >= kMaxKeys) throw usage_error("too many keys").at(place_at(text_, file_, position));
    const bool again =
        std::any_of(items.begin(), items.end(), [&](const auto& item) { return item.first == name; });
    if (again) throw usage_error("duplicate key '" + name + "'").at(place_at(text_, file_, position));
    key_ = name;
    key_position_ = position;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& exception) override {
    // "[json.exception...] parse error at line 1, column 2: syntax error while parsing value - unexpected
    // ..."
    std::string message = exception.what();
    const std::size_t dash = message.find(" - ");
    if (dash != std::string::npos) message = message.substr(dash + 3);
    if (text_.empty()) message = "unexpected end of input";  // nlohmann_json 3.11.3 says this at length
    std::replace_if(
        message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    throw usage_error("invalid JSON: " + message)
        .at(place_at(text_, file_, position == 0 ? 0 : position - 1));
  }

 private:
  std::size_t consumed() const { return static_cast<std::size_t>(reached_ - text_.data()); }

  // Where the number, true, false or null starts that was just read; the parser may be one character further.
  std::size_t word_start() const {
    const auto in_word = [&](std::size_t at) {
      const char c = text_[at];
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '+' || c == '-' || c == '.';
    };
    std::size_t at = consumed();
    if (at > 0 && !in_word(at - 1)) --at;
    while (at > 0 && in_word(at - 1)) --at;
    return at;
  }
  // Where the string starts whose closing quote was just read.
  std::size_t string_start() const {
    std::size_t at = consumed() - 1;
    while (at > 0) {
      --at;
      if (text_[at] != '"') continue;
      std::size_t slashes = 0;
      while (slashes < at && text_[at - slashes - 1] == '\\') ++slashes;
      if (slashes % 2 == 0) break;
    }
    return at;
  }

  // As in a JSON pointer.
  static std::string escaped(const std::string& key) {
    std::string result;
    for (const char c : key) result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return result;
  }

  template <class T>
  Value* place(T&& content, std::size_t position) {
    Value* target = &root_;
    std::string pointer;
    if (!open_.empty()) {
      Value& parent = *open_.back();
      if (auto* object = std::get_if<Value::Object>(&parent.value)) {
        pointer = parent.pointer + "/" + escaped(key_);
        target = &object->items.emplace_back(key_, Value{}).second;
        target->key_position = key_position_;
      } else {
        auto& items = std::get<Value::Array>(parent.value).items;
        pointer = parent.pointer + "/" + std::to_string(items.size());
        target = &items.emplace_back();
      }
    }
    target->value = std::forward<T>(content);
    target->position = position;
    target->pointer = std::move(pointer);
    return target;
  }
  template <class T>
  bool add(T&& content, std::size_t position) {
    place(std::forward<T>(content), position);
    return true;
  }
  template <class T>
  bool open(T&& content) {
    const std::size_t position = consumed() - 1;
    if (open_.size() >= kMaxNesting)
      throw usage_error("nested too deeply").at(place_at(text_, file_, position));
    // Stays valid: a parent grows only after its last child is closed.
    open_.push_back(place(std::forward<T>(content), position));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  const char* reached_;
  Value root_;
  std::vector<Value*> open_;
  std::string key_;
  std::size_t key_position_ = 0;
};

// --- what a configuration may say ---

class Reader {
 public:
  Reader(std::string_view text, const std::string& file, Config& config)
      : text_(text), file_(file), config_(config) {}

  // The text as one value.
  Argument read_value() { return any(parse()); }

  void read() {
    const Value root = parse();
    const auto& items = object(root, "an object with options");
    if (find(items, "format") != nullptr) {
      fail(*find(items, "format"),
           "unknown option 'format': this looks like a whole collection; use the value of its 'options'",
           true);
    }
    check_keys(items, config_keys(), "option");
    // In this order, whatever the order of the keys in the file: exceptions come after what they except.
    TraceOptions& options = config_.options;
    on(items, "$schema", [&](const Value& v) { string(v); });
    on(items, "method", [&](const Value& v) { options.method = string(v); });
    on(items, "model", [&](const Value& v) { options.model = string(v); });
    on(items, "default_leaves", [&](const Value& v) { options.default_leaves = boolean(v); });
    on(items, "max_depth", [&](const Value& v) { options.max_depth = integer(v, 0); });
    on(items, "rules", [&](const Value& v) {
      for (const Value& item : array(v, "an array of rules")) rule(item);
    });
    on(items, "leaf", [&](const Value& v) { leaf_rules(v, true); });
    on(items, "no_leaf", [&](const Value& v) { leaf_rules(v, false); });
    on(items, "wrap", [&](const Value& v) { wrap_rules(v, true); });
    on(items, "no_wrap", [&](const Value& v) { wrap_rules(v, false); });
    on(items, "hooks", [&](const Value& v) {
      options.hooks = one_of(v, {"run", "skip"}) == "run" ? Hooks::kRun : Hooks::kSkip;
    });
    on(items, "concrete", [&](const Value& v) {
      for (const auto& [name, value] : object(v, "an object: inputs and their values")) {
        options.concrete.push_back({name, any(value)});
      }
    });
    on(items, "input_names", [&](const Value& v) {
      options.input_names.emplace();
      append(v, *options.input_names);
    });
    on(items, "input", [&](const Value& v) {
      for (const auto& [name, value] : object(v, "an object: inputs and their specs")) {
        const std::string text = string(value);
        checked(value, [&, &input = name] { options.inputs.push_back(make_input_spec(input, text)); });
      }
    });
    on(items, "dim", [&](const Value& v) {
      for (const auto& [name, value] : object(v, "an object: dimensions and their ranges")) {
        const std::string text = string(value);
        checked(value, [&, &dimension = name] {
          options.dimensions.push_back(make_dimension_range(dimension, text));
        });
      }
    });
    on(items, "defaults", [&](const Value& v) {
      options.defaults = one_of(v, {"needed", "never"}) == "needed" ? Defaults::kNeeded : Defaults::kNever;
    });
    on(items, "param_shapes_constant", [&](const Value& v) { options.param_shapes_constant = boolean(v); });
    on(items, "op_library", [&](const Value& v) { append(v, options.op_libraries); });
    on(items, "op_schema", [&](const Value& v) { append(v, options.op_schemas); });
    on(items, "strict", [&](const Value& v) { config_.strict = boolean(v); });
    on(items, "max_iterations", [&](const Value& v) { options.limits.iterations = integer(v, 1); });
    on(items, "max_nodes", [&](const Value& v) { options.limits.nodes = integer(v, 1); });
    on(items, "max_call_depth", [&](const Value& v) { options.limits.call_depth = integer(v, 1); });
  }

 private:
  using Items = std::vector<std::pair<std::string, Value>>;

  Value parse() {
    Builder builder(text_, file_);
    const char* begin = text_.data();
    if (text_.starts_with("\xef\xbb\xbf")) begin += 3;
    nlohmann::json::sax_parse(Cursor(begin, builder.reached()), Cursor(text_.data() + text_.size(), nullptr),
                              &builder);
    return builder.take();
  }

  [[noreturn]] void fail(const Value& value, const std::string& what, bool at_key = false,
                         std::vector<std::string> hints = {}) const {
    const std::string where = value.pointer.empty() ? "" : value.pointer + ": ";
    throw usage_error(where + what, std::move(hints))
        .at(place_at(text_, file_, at_key ? value.key_position : value.position));
  }

  static const Value* find(const Items& items, std::string_view key) {
    const auto found =
        std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.first == key; });
    return found == items.end() ? nullptr : &found->second;
  }
  static void on(const Items& items, std::string_view key, const std::function<void(const Value&)>& f) {
    if (const Value* value = find(items, key)) f(*value);
  }
  void check_keys(const Items& items, const std::vector<std::string>& known, const std::string& what) const {
    for (const auto& [key, value] : items) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const std::string nearest = find_nearest(key, known);
      fail(
          value,
          "unknown " + what + " '" + key + "'" + (nearest.empty() ? "" : ", did you mean '" + nearest + "'?"),
          true);
    }
  }

  const Items& object(const Value& value, const std::string& what) const {
    if (const auto* object = value.get_if<Value::Object>()) return object->items;
    fail(value, "expected " + what);
  }
  const std::vector<Value>& array(const Value& value, const std::string& what) const {
    if (const auto* array = value.get_if<Value::Array>()) return array->items;
    fail(value, "expected " + what);
  }
  std::string string(const Value& value) const {
    const auto* text = value.get_if<std::string>();
    if (text == nullptr) fail(value, "expected a string");
    if (text->empty()) fail(value, "expected a non-empty string");
    return *text;
  }
  bool boolean(const Value& value) const {
    if (const auto* boolean = value.get_if<bool>()) return *boolean;
    fail(value, "expected a boolean");
  }
  std::int64_t integer(const Value& value, std::int64_t least) const {
    std::optional<std::int64_t> number;
    if (const auto* whole = value.get_if<std::int64_t>()) number = *whole;
    // To JSON Schema 2.0 is an integer too.
    const auto* real = value.get_if<double>();
    if (real != nullptr && std::trunc(*real) == *real && std::abs(*real) < 1e15)
      number = static_cast<std::int64_t>(*real);
    if (!number || *number < least) fail(value, "expected an integer of at least " + std::to_string(least));
    return *number;
  }
  std::string one_of(const Value& value, const std::vector<std::string>& allowed) const {
    const auto* text = value.get_if<std::string>();
    if (text != nullptr && std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return *text;
    std::string list;
    for (const auto& word : allowed) list += (list.empty() ? "\"" : " or \"") + word + "\"";
    fail(value, "expected " + list);
  }
  // One string, or an array of strings.
  void for_each_string(const Value& value,
                       const std::function<void(const Value&, const std::string&)>& f) const {
    if (value.get_if<std::string>() != nullptr) return f(value, string(value));
    for (const Value& item : array(value, "a string or an array of strings")) f(item, string(item));
  }
  void append(const Value& value, std::vector<std::string>& list) const {
    for_each_string(value, [&](const Value&, const std::string& text) { list.push_back(text); });
  }

  // Runs f and gives its errors the place of `value`.
  template <class F>
  void checked(const Value& value, F&& f) const {
    try {
      f();
    } catch (const Error& error) {
      fail(value, error.what(), false, error.hints());
    }
  }

  void leaf_rules(const Value& value, bool leaf) {
    for_each_string(value, [&](const Value& item, const std::string& text) {
      checked(item, [&] { config_.options.leaf_rules.push_back(parse_leaf_rule(text, leaf)); });
    });
  }
  void wrap_rules(const Value& value, bool wrap) {
    for_each_string(value, [&](const Value& item, const std::string& text) {
      checked(item, [&] {
        Glob check(text);
        config_.options.wrap_rules.push_back({text, wrap});
      });
    });
  }

  void rule(const Value& value) {
    const auto& items = object(value, "a rule: an object");
    check_keys(items, rule_keys(), "key of a rule");
    const auto glob = [&](const Value& v) {
      std::string text = string(v);
      checked(v, [&] { Glob check(text); });
      return text;
    };
    if (const Value* function = find(items, "function")) {
      WrapRule wrap_rule{glob(*function), true};
      on(items, "wrap", [&](const Value& v) { wrap_rule.wrap = boolean(v); });
      for (const auto& [key, item] : items) {
        if (key != "function" && key != "wrap")
          fail(item, "'" + key + "' does not apply to a rule for functions", true);
      }
      config_.options.wrap_rules.push_back(std::move(wrap_rule));
      return;
    }
    LeafRule rule;
    on(items, "type", [&](const Value& v) { rule.type_glob = glob(v); });
    on(items, "path", [&](const Value& v) { rule.path_glob = glob(v); });
    on(items, "where", [&](const Value& v) { where(v, rule.where); });
    on(items, "leaf", [&](const Value& v) { rule.leaf = boolean(v); });
    on(items, "wrap", [&](const Value& v) { fail(v, "'wrap' needs 'function'", true); });
    if (!rule.type_glob && !rule.path_glob && rule.where.empty()) {
      fail(value, "a rule needs 'type', 'path', 'where' or 'function'");
    }
    rule.text = rule_text(rule);
    config_.options.leaf_rules.push_back(std::move(rule));
  }

  // {"groups": {">": 1}}, or {"groups": 1} for "==".
  void where(const Value& value, std::vector<Predicate>& predicates) const {
    const auto& items = object(value, "an object with conditions");
    if (items.empty()) fail(value, "expected at least one condition");
    for (const auto& [attribute, condition] : items) {
      const auto* comparisons = condition.get_if<Value::Object>();
      if (comparisons == nullptr) {
        predicates.push_back({attribute, "==", plain(condition)});
        continue;
      }
      if (comparisons->items.empty()) fail(condition, "expected a comparison such as {\">\": 1}");
      check_keys(comparisons->items, {"==", "!=", "<", "<=", ">", ">="}, "comparison");
      for (const auto& [op, wanted] : comparisons->items)
        predicates.push_back({attribute, op, plain(wanted)});
    }
  }

  // Any JSON.
  Argument any(const Value& value) const {
    if (const auto* object = value.get_if<Value::Object>()) {
      Argument::Dict dict;
      for (const auto& [key, item] : object->items) dict.items.push_back({key, any(item)});
      return Argument(std::move(dict));
    }
    if (const auto* array = value.get_if<Value::Array>()) {
      Argument::List list;
      for (const Value& item : array->items) list.items.push_back(any(item));
      return Argument(std::move(list));
    }
    return plain(value);
  }

  Argument plain(const Value& value) const {
    if (value.get_if<std::nullptr_t>() != nullptr) return Argument(Argument::None{});
    if (const auto* boolean = value.get_if<bool>()) return Argument(*boolean);
    if (const auto* integer = value.get_if<std::int64_t>()) return Argument(*integer);
    if (const auto* number = value.get_if<double>()) return Argument(*number);
    if (const auto* text = value.get_if<std::string>()) return Argument(*text);
    if (const auto* array = value.get_if<Value::Array>()) {
      Argument::List list;
      for (const Value& item : array->items) list.items.push_back(plain(item));
      return Argument(std::move(list));
    }
    fail(value, "expected null, a boolean, a number, a string or an array of them");
  }

  static std::string rule_text(const LeafRule& rule);

  std::string_view text_;
  const std::string& file_;
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
  Config unused;
  return Reader(text, what, unused).read_value();
}

void read_config(std::string_view text, const std::string& file, Config& config) {
  Reader(text, file, config).read();
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
