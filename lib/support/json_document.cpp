#include "support/json_document.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <unordered_set>
#include <utility>
#include <variant>

#include <simdjson.h>
#include <nlohmann/json.hpp>

#include "support/json_emitter.h"
#include "support/text/columns.h"

namespace fxtrace {

using Kind = JsonValue::Kind;

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Python writes infinite numbers and NaN as Infinity, -Infinity and NaN, which are not JSON; PyTorch 2.6
// kept them.  Returns the text with these as strings; nothing when it has none.
std::optional<std::string> with_quoted_numbers(std::string_view text) {
  std::string result;
  bool found = false;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      const std::size_t start = i++;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      i = std::min(i + 1, text.size());
      result += text.substr(start, i - start);
      continue;
    }
    const auto rest = text.substr(i);
    std::string_view number;
    for (const std::string_view name : {"Infinity", "-Infinity", "NaN"}) {
      if (rest.starts_with(name)) number = name;
    }
    if (number.empty()) {
      result += text[i++];
    } else {
      result.append(1, '"').append(number).append(1, '"');
      i += number.size();
      found = true;
    }
  }
  if (!found) return std::nullopt;
  return result;
}

// Escapes a key for a JSON pointer.
std::string pointer_part(const std::string& key) {
  std::string part;
  for (const char c : key) part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

}  // namespace

// Fills a document with the events of a parser.  All events return false when the text is refused.
class JsonBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Problem = JsonDocument::Problem;

  // Reserves the space that a text of so many bytes usually needs; `texts` has memory for its strings.
  JsonBuilder(JsonDocument& document, std::size_t bytes, std::string texts = {}) : document_(&document) {
    constexpr std::size_t kBytesPerNode = 10;  // about the average of graphs
    nodes().clear();
    nodes().reserve(bytes / kBytesPerNode);
    document.numbers_.clear();
    document.texts_ = std::move(texts);
    document.texts_.clear();
    document.texts_.reserve(bytes);
  }

  const std::optional<Problem>& problem() const { return problem_; }

  bool null() override { return add(Kind::kNull); }
  bool boolean(bool value) override { return add(value ? Kind::kTrue : Kind::kFalse); }
  bool number_integer(number_integer_t value) override {
    return add_number(Kind::kInteger, static_cast<std::uint64_t>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return std::in_range<std::int64_t>(value) ? add_number(Kind::kInteger, value)
                                              : real(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return real(value); }
  bool real(double value) { return add_number(Kind::kNumber, std::bit_cast<std::uint64_t>(value)); }
  bool string(string_t& value) override { return text(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Kind::kObject); }
  bool key(string_t& value) override {
    if (document_->rules_.strict && !is_new(value)) return refuse("duplicate key '" + value + "'");
    return text(value);
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Kind::kArray); }
  bool end_array() override { return close(); }
  // Adds a string or key.
  bool text(std::string_view value) {
    std::string& texts = document_->texts_;
    if (!add(Kind::kString, value.size(), texts.size())) return false;
    texts += value;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const bool is_range = error.id == 406;
    problem_ = {"", position == 0 ? 0 : position - 1, !is_range};
    if (document_->rules_.strict) {
      problem_->what = "invalid JSON: " + explanation(error.what());
    } else if (is_range) {
      problem_->what = "a number at byte " + std::to_string(position) + " is too large";
    } else {
      problem_->what = "not JSON at byte " + std::to_string(position);
    }
    return false;
  }

 private:
  static constexpr std::size_t kFewKeys = 32;
  static constexpr std::size_t kMaxMessage = 300;
  struct Open {
    std::uint32_t at = 0;
    std::size_t keys = 0;
    std::unique_ptr<std::unordered_set<std::string>> names;  // the keys of an object that has more than a few
  };

  // Returns the part of nlohmann's message after "[json.exception...] parse error at line 1, column 2:
  // syntax error while parsing value - ".
  std::string explanation(std::string message) const {
    if (document_->source_.empty()) return "unexpected end of input";  // 3.11.3 says this at length
    const std::size_t dash = message.find(" - ");
    // The message quotes the whole of a string that does not end.
    if (dash != std::string::npos) message = message.substr(dash + 3, kMaxMessage);
    // The text that was read last may be from any file.
    if (const std::size_t last = message.find("; last read: "); last != std::string::npos) {
      const std::size_t expected = message.rfind("; expected ");
      message.erase(last,
                    expected != std::string::npos && expected > last ? expected - last : std::string::npos);
    }
    std::replace_if(
        message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return message;
  }

  std::vector<JsonDocument::Node>& nodes() { return document_->nodes_; }

  // Refuses the value or key that comes next.
  bool refuse(std::string what) {
    problem_ = {std::move(what), document_->position(nodes().size()), false};
    return false;
  }

  bool add(Kind kind, std::size_t extent = 0, std::size_t content = 0) {
    if (const std::size_t most = document_->rules_.max_values; nodes().size() >= most) {
      return refuse("more than " + std::to_string(most) + " values");
    }
    nodes().emplace_back(kind, extent, content);
    return true;
  }
  bool add_number(Kind kind, std::uint64_t bits) {
    document_->numbers_.push_back(bits);
    return add(kind, 0, document_->numbers_.size() - 1);
  }
  // Returns whether the innermost object has no key of this name yet.
  bool is_new(const std::string& name) {
    Open& object = open_.back();
    const auto each_key = [&](auto&& f) {
      for (std::uint32_t key = object.at + 1; key < nodes().size(); key = document_->next(key + 1)) f(key);
    };
    if (++object.keys > kFewKeys) {
      if (!object.names) {
        object.names = std::make_unique<std::unordered_set<std::string>>();
        each_key([&](std::uint32_t key) { object.names->emplace(document_->text(key)); });
      }
      return object.names->insert(name).second;
    }
    bool found = false;
    each_key([&](std::uint32_t key) { found = found || document_->text(key) == name; });
    return !found;
  }
  bool open(Kind kind) {
    const auto& rules = document_->rules_;
    if (open_.size() >= rules.max_depth) {
      return refuse(rules.strict ? "nested too deeply"
                                 : "nested more than " + std::to_string(rules.max_depth) + " deep");
    }
    open_.push_back({static_cast<std::uint32_t>(nodes().size()), 0, {}});
    return add(kind);
  }
  bool close() {
    JsonDocument::Node& node = nodes()[open_.back().at];
    node = {node.kind(), nodes().size(), 0};
    open_.pop_back();
    return true;
  }

  JsonDocument* document_;
  std::vector<Open> open_;
  std::optional<Problem> problem_;
};

namespace {

// Gives the builder the values that simdjson has parsed, without recursion: they may be nested deeper than
// the call stack allows.
class DomWalk {
 public:
  explicit DomWalk(JsonBuilder& builder) : builder_(builder) {}

  // Returns false when the builder refuses a value.
  bool walk(simdjson::dom::element root) {
    bool goes_on = add(root);
    while (goes_on && !open_.empty()) {
      auto* const array = std::get_if<Contents<Array>>(&open_.back());
      goes_on = array != nullptr ? add_next(*array) : add_next(std::get<Contents<Object>>(open_.back()));
    }
    return goes_on;
  }

 private:
  using Array = simdjson::dom::array::iterator;
  using Object = simdjson::dom::object::iterator;

  template <class Iterator>
  struct Contents {
    Iterator at, end;
  };

  bool add_next(Contents<Array>& items) {
    if (items.at == items.end) return close();
    const simdjson::dom::element item = *items.at;
    ++items.at;
    return add(item);
  }
  bool add_next(Contents<Object>& fields) {
    if (fields.at == fields.end) return close();
    const simdjson::dom::element value = fields.at.value();
    const bool is_added = builder_.text(fields.at.key());
    ++fields.at;
    return is_added && add(value);
  }
  bool close() {
    open_.pop_back();
    return builder_.end_array();
  }

  bool add(simdjson::dom::element value) {
    using Type = simdjson::dom::element_type;
    switch (value.type()) {
      case Type::ARRAY: {
        const simdjson::dom::array items = value.get_array().value_unsafe();
        open_.emplace_back(Contents<Array>{items.begin(), items.end()});
        return builder_.start_array(0);
      }
      case Type::OBJECT: {
        const simdjson::dom::object fields = value.get_object().value_unsafe();
        open_.emplace_back(Contents<Object>{fields.begin(), fields.end()});
        return builder_.start_object(0);
      }
      case Type::INT64:
        return builder_.number_integer(value.get_int64().value_unsafe());
      case Type::UINT64:
        return builder_.number_unsigned(value.get_uint64().value_unsafe());
      case Type::DOUBLE:
        return builder_.real(value.get_double().value_unsafe());
      case Type::STRING:
        return builder_.text(value.get_string().value_unsafe());
      case Type::BOOL:
        return builder_.boolean(value.get_bool().value_unsafe());
      case Type::NULL_VALUE:
        return builder_.null();
    }
    return false;
  }

  JsonBuilder& builder_;
  std::vector<std::variant<Contents<Array>, Contents<Object>>> open_;
};

}  // namespace

JsonDocument::JsonDocument(std::string_view text, std::string name, JsonRules rules)
    : name_(std::move(name)), rules_(rules) {
  if (rules.strict) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    source_ = text;
  }
  if (!rules.strict) {
    JsonText copy{std::string(text)};
    if (parse_fast(copy)) return;
  }
  parse(text);
}

JsonDocument::JsonDocument(JsonText text, std::string name, JsonRules rules)
    : name_(std::move(name)), rules_(rules) {
  if (!parse_fast(text)) parse(text.text);
}

// Returns whether simdjson accepted the text; it does not tell what is wrong, nor where.  It accepts what
// nlohmann's parser accepts, except for integers of more than 64 bits.
bool JsonDocument::parse_fast(JsonText& text) {
  const std::size_t size = text.text.size();
  if (size > kMaxText) return false;
  // simdjson reserves 14 bytes for each byte of the text; graphs need one or two.  Where a limit on memory
  // has no room for that, nlohmann's parser may still have enough.
  constexpr std::size_t kReserved = 16, kLarge = 1'000'000;
  if (size > kLarge) {
    void* const room = std::malloc(kReserved * size);
    if (room == nullptr) return false;
    std::free(room);
  }
  text.text.reserve(size + kPadding);
  simdjson::dom::document document;
  {
    simdjson::dom::parser parser;
    if (parser.allocate(size, rules_.max_depth) != simdjson::SUCCESS) return false;
    if (parser.parse_into_document(document, text.text.data(), size, false).error() != simdjson::SUCCESS)
      return false;
  }
  JsonBuilder builder(*this, size, std::move(text.text));  // simdjson has copied the strings that it keeps
  if (!DomWalk(builder).walk(document.root())) refuse(*builder.problem());
  return true;
}

void JsonDocument::parse(std::string_view text) {
  if (text.size() > kMaxText) refuse({"longer than " + std::to_string(kMaxText) + " bytes"});
  if (const std::size_t end = text.find('\0'); end != std::string_view::npos) {
    // nlohmann's parser takes a zero byte for the end of the text.
    refuse({rules_.strict ? "invalid JSON: a zero byte" : "not JSON at byte " + std::to_string(end), end});
  }
  std::optional<Problem> problem;
  const auto parse = [&](std::string_view standard) {
    JsonBuilder builder(*this, standard.size());
    nlohmann::json::sax_parse(standard.begin(), standard.end(), &builder);
    problem = builder.problem();
  };
  parse(text);
  if (problem && problem->is_syntax && !rules_.strict) {
    if (const auto standard = with_quoted_numbers(text)) parse(*standard);
  }
  if (problem) refuse(*problem);
}

void JsonDocument::refuse(const Problem& problem) const {
  if (!rules_.strict) throw Error(rules_.error, name_ + " cannot be parsed: " + problem.what);
  throw Error(rules_.error, problem.what).at(name_ + line_and_column(problem.position));
}

// Returns "graph.nodes[12].inputs[0]", or a JSON pointer; cut when it is too long to read.
std::string JsonDocument::path(std::uint32_t at) const {
  constexpr std::size_t kMaxKey = 80, kMaxPath = 300;
  std::string path;
  std::uint32_t current = 0;
  while (current != at) {
    const bool object = nodes_[current].kind() == Kind::kObject;
    std::uint32_t child = current + 1;
    std::size_t index = 0;
    // The wanted node is this value, its key, or inside it.
    while (at >= next(object ? child + 1 : child)) {
      child = next(object ? child + 1 : child);
      ++index;
    }
    current = object ? child + 1 : child;
    const std::string key(object ? text(child).substr(0, kMaxKey) : "");
    if (rules_.strict) {
      path += "/" + (object ? pointer_part(key) : std::to_string(index));
    } else {
      path += object ? (path.empty() ? "" : ".") + key : "[" + std::to_string(index) + "]";
    }
    if (path.size() > kMaxPath) return path + "...";
  }
  return path;
}

// Returns the byte offset of the value or key that has so many before it.  Up to there the text is known to
// be JSON.
std::size_t JsonDocument::position(std::size_t values) const {
  std::size_t position = 0;
  for (std::size_t seen = 0; position < source_.size(); ++seen) {
    position = std::min(source_.find_first_not_of(" \t\r\n,:]}", position), source_.size());
    if (seen == values) break;
    if (source_[position] == '"') {
      for (++position; source_[position] != '"'; ++position) position += source_[position] == '\\' ? 1 : 0;
      ++position;
    } else if (source_[position] == '[' || source_[position] == '{') {
      ++position;
    } else {
      position = source_.find_first_of(" \t\r\n,:]}", position);
    }
  }
  return position;
}

// Returns ":12:5", with the column in characters.
std::string JsonDocument::line_and_column(std::size_t position) const {
  const std::string_view before = source_.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::string_view start = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  return ":" + std::to_string(line) + ":" + std::to_string(width(start) + 1);
}

Error JsonDocument::error(std::uint32_t at, std::uint32_t about, const std::string& what,
                          std::vector<std::string> hints) const {
  std::string path = this->path(about);
  if (!path.empty()) path += ": ";
  if (!rules_.strict) return {rules_.error, name_ + ": " + path + what, std::move(hints)};
  Error error(rules_.error, path + what, std::move(hints));
  return error.at(name_ + line_and_column(position(at)));
}

// --- JsonValue ---

void JsonValue::fail(const std::string& what, std::vector<std::string> hints) const {
  throw document_->error(at_, at_, what, std::move(hints));
}

void JsonValue::fail_at_key(const std::string& what) const { throw document_->error(at_ - 1, at_, what, {}); }

bool JsonValue::boolean() const {
  if (kind() == Kind::kTrue) return true;
  if (kind() != Kind::kFalse) fail("expected true or false");
  return false;
}

std::int64_t JsonValue::integer() const {
  if (kind() != Kind::kInteger) fail("expected a 64-bit integer");
  return static_cast<std::int64_t>(document_->number(at_));
}

double JsonValue::number() const {
  if (kind() == Kind::kInteger) return static_cast<double>(integer());
  if (kind() == Kind::kNumber) return std::bit_cast<double>(document_->number(at_));
  if (kind() == Kind::kString) {
    const auto text = string();
    if (text == "Infinity") return HUGE_VAL;
    if (text == "-Infinity") return -HUGE_VAL;
    if (text == "NaN") return std::nan("");
  }
  fail("expected a number");
}

std::string_view JsonValue::string() const {
  if (kind() != Kind::kString) fail("expected a string");
  return document_->text(at_);
}

JsonValue::Range JsonValue::items() const {
  if (kind() != Kind::kArray) fail("expected a list");
  return {{document_, at_ + 1, false}, {document_, document_->next(at_), false}};
}

JsonValue::Range JsonValue::fields() const {
  if (kind() != Kind::kObject) fail("expected an object");
  return {{document_, at_ + 1, true}, {document_, document_->next(at_), true}};
}

std::optional<JsonValue> JsonValue::find_or_null(std::string_view key) const {
  std::optional<JsonValue> found;
  for (const JsonValue field : fields()) {
    if (field.key() == key) found = field;
  }
  return found;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  const auto found = find_or_null(key);
  return found && !found->is_null() ? found : std::nullopt;
}

JsonValue JsonValue::at(std::string_view key) const {
  const auto found = find(key);
  if (!found) fail("\"" + std::string(key) + "\" is missing");
  return *found;
}

void JsonValue::write(JsonEmitter& json) const {
  switch (kind()) {
    case Kind::kNull:
      return json.null();
    case Kind::kFalse:
    case Kind::kTrue:
      return json.boolean(boolean());
    case Kind::kInteger:
      return json.integer(integer());
    case Kind::kNumber:
      return json.real(number());
    case Kind::kString:
      return json.string(string());
    case Kind::kArray:
      return json.list(items(), [&](const JsonValue& item) { item.write(json); });
    case Kind::kObject:
      return json.object([&] {
        for (const JsonValue field : fields()) {
          json.key(field.key());
          field.write(json);
        }
      });
  }
}

bool JsonValue::equals(const JsonValue& other) const {
  const JsonDocument &a = *document_, &b = *other.document_;
  const std::uint32_t count = a.next(at_) - at_;
  if (b.next(other.at_) - other.at_ != count) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t x = at_ + i, y = other.at_ + i;
    const Kind kind = a.nodes_[x].kind();
    if (b.nodes_[y].kind() != kind || a.next(x) - at_ != b.next(y) - other.at_) return false;
    const bool is_number = kind == Kind::kInteger || kind == Kind::kNumber;
    if (is_number && a.number(x) != b.number(y)) return false;
    if (kind == Kind::kString && a.text(x) != b.text(y)) return false;
  }
  return true;
}

JsonValue::Alternative JsonValue::alternative() const {
  const Range range = fields();
  auto field = range.begin();
  if (!(field != range.end())) fail("expected one field");
  const Alternative only{field.key(), *field};
  ++field;
  if (field != range.end()) fail("expected exactly one field");
  return only;
}

}  // namespace fxtrace
