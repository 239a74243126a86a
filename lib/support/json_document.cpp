#include "support/json_document.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <unordered_set>

#include <simdjson.h>
#include <nlohmann/json.hpp>

#include "support/columns.h"
#include "support/json_emitter.h"

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

// Receives what nlohmann's parser finds, and writes simdjson's tape.
class JsonParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  struct Problem {
    std::string what;
    std::size_t position = 0;
    bool is_syntax = false;  // the text is no JSON
  };

  explicit JsonParser(JsonDocument& document) : document_(&document) {}

  const std::optional<Problem>& problem() const { return problem_; }

  bool null() override { return add('n'); }
  bool boolean(bool value) override { return add(value ? 't' : 'f'); }
  bool number_integer(number_integer_t value) override {
    if (!add('l')) return false;
    tape().push_back(static_cast<std::uint64_t>(value));
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return number_integer(static_cast<number_integer_t>(value));
    }
    if (!add('u')) return false;
    tape().push_back(value);
    return true;
  }
  bool number_float(number_float_t value, const string_t&) override {
    if (!add('d')) return false;
    tape().push_back(std::bit_cast<std::uint64_t>(value));
    return true;
  }
  bool string(string_t& value) override { return add_text(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open('{'); }
  bool key(string_t& value) override {
    if (document_->rules_.strict && !is_new(value)) return refuse("duplicate key '" + value + "'");
    return add_text(value);
  }
  bool end_object() override { return close('}'); }
  bool start_array(std::size_t) override { return open('['); }
  bool end_array() override { return close(']'); }
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
    // The text that it read last may be of any file.
    if (const std::size_t last = message.find("; last read: "); last != std::string::npos) {
      const std::size_t expected = message.rfind("; expected ");
      message.erase(last,
                    expected != std::string::npos && expected > last ? expected - last : std::string::npos);
    }
    std::replace_if(
        message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return message;
  }

  std::vector<std::uint64_t>& tape() { return document_->own_tape_; }

  // The value or key that comes next.
  bool refuse(std::string what) {
    problem_ = {std::move(what), document_->position(values_), false};
    return false;
  }

  void push(char tag, std::size_t payload) {
    tape().push_back((std::uint64_t{static_cast<unsigned char>(tag)} << JsonDocument::kTagShift) | payload);
  }
  bool add(char tag, std::size_t payload = 0) {
    if (const std::size_t most = document_->rules_.max_values; values_ >= most) {
      return refuse("it has more than " + std::to_string(most) + " values");
    }
    ++values_;
    push(tag, payload);
    return true;
  }
  bool add_text(const std::string& value) {
    auto& strings = document_->own_strings_;
    if (!add('"', strings.size())) return false;
    const auto length =
        std::bit_cast<std::array<char, sizeof(std::uint32_t)>>(static_cast<std::uint32_t>(value.size()));
    strings.append(length.data(), length.size()).append(value);
    return true;
  }
  // Whether the innermost object has no key of this name yet.
  bool is_new(const std::string& name) {
    Open& object = open_.back();
    document_->use_own();
    const auto each_key = [&](auto&& f) {
      for (std::uint32_t key = object.at + 1; key < tape().size(); key = document_->next(key + 1)) f(key);
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
  bool open(char tag) {
    const auto& rules = document_->rules_;
    if (open_.size() >= rules.max_depth) {
      return refuse(rules.strict ? "nested too deeply"
                                 : "it is nested more than " + std::to_string(rules.max_depth) + " deep");
    }
    open_.push_back({static_cast<std::uint32_t>(tape().size()), 0, {}});
    return add(tag);
  }
  bool close(char tag) {
    push(tag, open_.back().at);
    tape()[open_.back().at] |= tape().size();
    open_.pop_back();
    return true;
  }

  JsonDocument* document_;
  std::size_t values_ = 0;
  std::vector<Open> open_;
  std::optional<Problem> problem_;
};

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

// Whether simdjson took it, which says neither what is wrong nor where.  It takes what nlohmann's parser
// takes, except for integers of more than 64 bits.
bool JsonDocument::parse_fast(JsonText& text) {
  const std::size_t size = text.text.size();
  if (size > kMaxText) return false;
  // simdjson reserves 14 bytes for each of the text, of which graphs take one or two.  Where a limit on
  // memory has no room for that, there may be enough for what nlohmann's parser takes.
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
  tape_ = document.tape.get();
  if (size / 2 >= rules_.max_values && values_before(next(1)) > rules_.max_values) return false;
  strings_ = reinterpret_cast<const char*>(document.string_buf.get());
  fast_strings_ = std::move(document.string_buf);
  if (size > kLarge) {
    text.text = {};
    own_tape_.assign(tape_, tape_ + next(1));
    tape_ = own_tape_.data();
  } else {
    fast_tape_ = std::move(document.tape);
  }
  return true;
}

void JsonDocument::parse(std::string_view text) {
  std::optional<JsonParser::Problem> problem;
  if (text.size() > kMaxText) {
    problem = {"it is longer than " + std::to_string(kMaxText) + " bytes"};
  } else if (const std::size_t end = text.find('\0'); end != std::string_view::npos) {
    // To nlohmann's parser this is the end of the text.
    problem = {rules_.strict ? "invalid JSON: a zero byte" : "it is no JSON at byte " + std::to_string(end),
               end};
  } else {
    constexpr std::size_t kBytesPerWord = 8;  // of graphs, about
    own_tape_.reserve(text.size() / kBytesPerWord);
    own_strings_.reserve(text.size());
    const auto parse = [&](std::string_view standard) {
      own_tape_.assign(1, std::uint64_t{'r'} << kTagShift);
      own_strings_.clear();
      JsonParser parser(*this);
      nlohmann::json::sax_parse(standard.begin(), standard.end(), &parser);
      problem = parser.problem();
    };
    parse(text);
    if (problem && problem->is_syntax && !rules_.strict) {
      if (const auto standard = with_quoted_numbers(text)) parse(*standard);
    }
    use_own();
  }
  if (!problem) return;
  if (!rules_.strict) throw Error(rules_.error, name_ + " cannot be parsed: " + problem->what);
  throw Error(rules_.error, problem->what).at(name_ + line_and_column(problem->position));
}

void JsonDocument::use_own() {
  tape_ = own_tape_.data();
  strings_ = own_strings_.data();
}

std::string_view JsonDocument::text(std::uint32_t at) const {
  const char* const start = strings_ + (tape_[at] & ((std::uint64_t{1} << kTagShift) - 1));
  std::uint32_t length = 0;
  std::memcpy(&length, start, sizeof length);
  return {start + sizeof length, length};
}

// How many values and keys begin before this one.
std::size_t JsonDocument::values_before(std::uint32_t at) const {
  std::size_t count = 0;
  for (std::uint32_t i = 1; i < at; ++i) {
    const char kind = tag(i);
    if (kind != ']' && kind != '}') ++count;
    if (kind == 'l' || kind == 'u' || kind == 'd') ++i;
  }
  return count;
}

// "graph.nodes[12].inputs[0]", or as a JSON pointer; cut where no one would read on.
std::string JsonDocument::path(std::uint32_t at) const {
  constexpr std::size_t kMaxKey = 80, kMaxPath = 300;
  std::string path;
  std::uint32_t current = 1;
  while (current != at) {
    const bool object = tag(current) == '{';
    std::uint32_t child = current + 1;
    std::size_t index = 0;
    // What is looked for is this value, its key, or something in it.
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

// The byte of the text at which the value or key begins that has so many before it.  Up to there the text is
// known to be JSON.
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

// ":12:5", the column in characters.
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
  return error.at(name_ + line_and_column(position(values_before(at))));
}

// --- JsonValue ---

Kind JsonValue::kind() const {
  switch (document_->tag(at_)) {
    case 'n':
      return Kind::kNull;
    case 'f':
      return Kind::kFalse;
    case 't':
      return Kind::kTrue;
    case 'l':
      return Kind::kInteger;
    case 'u':  // more than an integer holds
    case 'd':
      return Kind::kNumber;
    case '"':
      return Kind::kString;
    case '[':
      return Kind::kArray;
    default:
      return Kind::kObject;
  }
}

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
  return static_cast<std::int64_t>(document_->tape_[at_ + 1]);
}

double JsonValue::number() const {
  if (kind() == Kind::kInteger) return static_cast<double>(integer());
  if (document_->tag(at_) == 'u') return static_cast<double>(document_->tape_[at_ + 1]);
  if (kind() == Kind::kNumber) return std::bit_cast<double>(document_->tape_[at_ + 1]);
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
  at_ = document_->next(object_ ? at_ + 1 : at_);
  return *this;
}

JsonValue JsonValue::Iterator::operator*() const { return {document_, object_ ? at_ + 1 : at_}; }

std::string_view JsonValue::Iterator::key() const { return document_->text(at_); }

JsonValue::Range JsonValue::items() const {
  if (kind() != Kind::kArray) fail("expected a list");
  return {{document_, at_ + 1, false}, {document_, document_->next(at_) - 1, false}};
}

JsonValue::Range JsonValue::fields() const {
  if (kind() != Kind::kObject) fail("expected an object");
  return {{document_, at_ + 1, true}, {document_, document_->next(at_) - 1, true}};
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
    const char kind = a.tag(x);
    if (b.tag(y) != kind || a.next(x) - at_ != b.next(y) - other.at_) return false;
    if (kind == '"' && a.text(x) != b.text(y)) return false;
    if (kind == 'l' || kind == 'u' || kind == 'd') {
      if (a.tape_[x + 1] != b.tape_[y + 1]) return false;
      ++i;
    }
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
