#include "support/json_document.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include <nlohmann/json.hpp>

namespace fxtrace {

using Kind = JsonValue::Kind;

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Python writes infinite numbers as Infinity, -Infinity and NaN, which are no JSON; PyTorch 2.6 left them so.
// The text with these as strings; nothing when it has none.
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

// As in a JSON pointer.
std::string pointer_part(const std::string& key) {
  std::string part;
  for (const char c : key) part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

}  // namespace

// Receives what nlohmann's parser finds.
class JsonParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  struct Problem {
    std::string what;
    std::size_t position = 0;
    bool is_syntax = false;  // the text is no JSON
  };

  explicit JsonParser(JsonDocument& document) : document_(&document) {}

  const std::optional<Problem>& problem() const { return problem_; }

  bool null() override { return add(Kind::kNull); }
  bool boolean(bool value) override { return add(value ? Kind::kTrue : Kind::kFalse); }
  bool number_integer(number_integer_t value) override {
    if (!add(Kind::kInteger)) return false;
    document_->entries_.back().integer = value;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return number_integer(static_cast<number_integer_t>(value));
    }
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(number_float_t value, const string_t&) override {
    if (!add(Kind::kNumber)) return false;
    document_->entries_.back().number = value;
    return true;
  }
  bool string(string_t& value) override { return add_text(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Kind::kObject); }
  bool key(string_t& value) override {
    const auto at = static_cast<std::uint32_t>(document_->entries_.size());
    if (document_->rules_.strict && !is_new(value)) return refuse(at, "duplicate key '" + value + "'");
    return add_text(value);
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Kind::kArray); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const bool is_range = error.id == 406;
    problem_ = {"", position == 0 ? 0 : position - 1, !is_range};
    if (document_->rules_.strict) {
      problem_->what = "invalid JSON: " + explanation(error.what());
    } else if (is_range) {
      problem_->what = "a number at byte " + std::to_string(position) + " is too large";
    } else {
      problem_->what = "it is no JSON at byte " + std::to_string(position);
    }
    return false;
  }

 private:
  static constexpr std::size_t kFewKeys = 32;
  static constexpr std::size_t kMaxMessage = 300;
  struct Open {
    std::uint32_t at = 0;
    std::size_t keys = 0;
    std::unordered_set<std::string> names;  // of an object with more than a few keys
  };

  // What nlohmann's message says behind "[json.exception...] parse error at line 1, column 2: syntax error
  // while parsing value - ".
  std::string explanation(std::string message) const {
    if (document_->source_.empty()) return "unexpected end of input";  // 3.11.3 says this at length
    const std::size_t dash = message.find(" - ");
    // It quotes the whole of a string that does not end.
    if (dash != std::string::npos) message = message.substr(dash + 3, kMaxMessage);
    std::replace_if(
        message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return message;
  }

  bool refuse(std::uint32_t at, std::string what) {
    problem_ = {std::move(what), document_->position(at), false};
    return false;
  }

  bool add(Kind kind) {
    auto& entries = document_->entries_;
    const auto at = static_cast<std::uint32_t>(entries.size());
    if (entries.size() >= JsonDocument::kMaxValues) {
      return refuse(at, "it has more than " + std::to_string(JsonDocument::kMaxValues) + " values");
    }
    JsonDocument::Entry entry{};
    entry.kind = kind;
    entry.next = at + 1;
    entries.push_back(entry);
    return true;
  }
  bool add_text(const std::string& value) {
    if (!add(Kind::kString)) return false;
    auto& text = document_->entries_.back().text;
    text.offset = static_cast<std::uint32_t>(document_->strings_.size());
    text.length = static_cast<std::uint32_t>(value.size());
    document_->strings_ += value;
    return true;
  }
  // Whether the innermost object has no key of this name yet.
  bool is_new(const std::string& name) {
    Open& object = open_.back();
    const auto& entries = document_->entries_;
    const auto each_key = [&](auto&& f) {
      for (std::uint32_t key = object.at + 1; key < entries.size(); key = entries[key + 1].next) f(key);
    };
    if (++object.keys > kFewKeys) {
      if (object.names.empty())
        each_key([&](std::uint32_t key) { object.names.emplace(document_->text(key)); });
      return object.names.insert(name).second;
    }
    bool found = false;
    each_key([&](std::uint32_t key) { found = found || document_->text(key) == name; });
    return !found;
  }
  bool open(Kind kind) {
    const auto at = static_cast<std::uint32_t>(document_->entries_.size());
    const auto& rules = document_->rules_;
    if (open_.size() >= rules.max_depth) {
      return refuse(at, rules.strict ? "nested too deeply"
                                     : "it is nested more than " + std::to_string(rules.max_depth) + " deep");
    }
    open_.push_back({at, 0, {}});
    return add(kind);
  }
  bool close() {
    document_->entries_[open_.back().at].next = static_cast<std::uint32_t>(document_->entries_.size());
    open_.pop_back();
    return true;
  }

  JsonDocument* document_;
  std::vector<Open> open_;
  std::optional<Problem> problem_;
};

JsonDocument::JsonDocument(std::string_view text, std::string name, JsonRules rules)
    : name_(std::move(name)), rules_(rules) {
  if (rules.strict) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    source_ = text;
  }
  std::optional<JsonParser::Problem> problem;
  if (text.size() > kMaxText) {
    problem = {"it is longer than " + std::to_string(kMaxText) + " bytes"};
  } else if (const std::size_t end = text.find('\0'); end != std::string_view::npos) {
    // To nlohmann's parser this is the end of the text.
    problem = {rules.strict ? "invalid JSON: a zero byte" : "it is no JSON at byte " + std::to_string(end),
               end};
  } else {
    constexpr std::size_t kBytesPerValue = 10;  // of graphs, about
    entries_.reserve(text.size() / kBytesPerValue);
    strings_.reserve(text.size());
    JsonParser parser(*this);
    nlohmann::json::sax_parse(text.begin(), text.end(), &parser);
    problem = parser.problem();
    if (problem && problem->is_syntax && !rules.strict) {
      if (const auto standard = with_quoted_numbers(text)) {
        entries_.clear();
        strings_.clear();
        JsonParser again(*this);
        nlohmann::json::sax_parse(*standard, &again);
        problem = again.problem();
      }
    }
  }
  if (!problem) return;
  if (!rules.strict) throw Error(rules.error, name_ + " cannot be parsed: " + problem->what);
  throw Error(rules.error, problem->what).at(name_ + line_and_column(problem->position));
}

// "graph.nodes[12].inputs[0]", or as a JSON pointer; cut where no one would read on.
std::string JsonDocument::path(std::uint32_t at) const {
  constexpr std::size_t kMaxKey = 80, kMaxPath = 300;
  std::string path;
  std::uint32_t current = 0;
  while (current != at) {
    const Entry& entry = entries_[current];
    const bool object = entry.kind == Kind::kObject;
    std::uint32_t child = current + 1;
    std::size_t index = 0;
    // What is looked for is this value, its key, or something in it.
    while (at >= entries_[object ? child + 1 : child].next) {
      child = entries_[object ? child + 1 : child].next;
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

// The byte of the text at which this value or key begins.  Up to there the text is known to be JSON.
std::size_t JsonDocument::position(std::uint32_t at) const {
  std::size_t position = 0;
  for (std::uint32_t seen = 0; position < source_.size(); ++seen) {
    position = std::min(source_.find_first_not_of(" \t\r\n,:]}", position), source_.size());
    if (seen == at) break;
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

// ":12:5", the column in characters.
std::string JsonDocument::line_and_column(std::size_t position) const {
  const std::string_view before = source_.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::string_view start = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  const auto column = std::count_if(start.begin(), start.end(), is_first) + 1;
  return ":" + std::to_string(line) + ":" + std::to_string(column);
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

Kind JsonValue::kind() const { return document_->entries_[at_].kind; }

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
  return document_->entries_[at_].integer;
}

double JsonValue::number() const {
  if (kind() == Kind::kInteger) return static_cast<double>(document_->entries_[at_].integer);
  if (kind() == Kind::kNumber) return document_->entries_[at_].number;
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

std::string_view JsonValue::key() const { return document_->text(at_ - 1); }

JsonValue::Iterator& JsonValue::Iterator::operator++() {
  at_ = document_->entries_[object_ ? at_ + 1 : at_].next;
  return *this;
}

JsonValue JsonValue::Iterator::operator*() const { return {document_, object_ ? at_ + 1 : at_}; }

std::string_view JsonValue::Iterator::key() const { return document_->text(at_); }

JsonValue::Range JsonValue::items() const {
  if (kind() != Kind::kArray) fail("expected a list");
  return {{document_, at_ + 1, false}, {document_, document_->entries_[at_].next, false}};
}

JsonValue::Range JsonValue::fields() const {
  if (kind() != Kind::kObject) fail("expected an object");
  return {{document_, at_ + 1, true}, {document_, document_->entries_[at_].next, true}};
}

std::optional<JsonValue> JsonValue::find_or_null(std::string_view key) const {
  std::optional<JsonValue> found;
  const Range range = fields();
  for (auto field = range.begin(); field != range.end(); ++field) {
    if (field.key() == key) found = *field;
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

bool JsonValue::equals(const JsonValue& other) const {
  const std::uint32_t count = document_->entries_[at_].next - at_;
  if (other.document_->entries_[other.at_].next - other.at_ != count) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& a = document_->entries_[at_ + i];
    const auto& b = other.document_->entries_[other.at_ + i];
    if (a.kind != b.kind || a.next - at_ != b.next - other.at_) return false;
    if (a.kind == Kind::kInteger && a.integer != b.integer) return false;
    if (a.kind == Kind::kNumber && a.number != b.number) return false;
    if (a.kind == Kind::kString && document_->text(at_ + i) != other.document_->text(other.at_ + i))
      return false;
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
