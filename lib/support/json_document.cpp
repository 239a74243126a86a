#include "support/json_document.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

#include <simdjson.h>

#include "support/json_emitter.h"
#include "support/text/numbers.h"

namespace fxtrace::internal {

using Kind = JsonValue::Kind;

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns the end of the string, number or word that begins at `start`.
std::size_t scalar_end(std::string_view text, std::size_t start) {
  if (!text.substr(start).starts_with('"')) {
    return std::min(text.find_first_of(" \t\r\n,:[]{}\"", start), text.size());
  }
  std::size_t end = start + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

// Escapes a key for a JSON pointer.
std::string pointer_part(const std::string& key) {
  std::string part;
  for (const char c : key) part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

}  // namespace

// Fills a document with the values of a text, in their order; refuses those beyond a limit.
class JsonBuilder {
 public:
  // Reserves the space that a text of so many bytes usually needs.  `parsed` are its strings, if they are
  // there.
  JsonBuilder(JsonDocument& document, std::size_t bytes, const std::uint8_t* parsed = nullptr)
      : document_(&document), is_parsed_(parsed != nullptr) {
    constexpr std::size_t kBytesPerNode = 10;  // about the average of graphs
    nodes().reserve(bytes / kBytesPerNode);
    if (!is_parsed_) document.scanned_.reserve(bytes);
    document.strings_ = is_parsed_ ? reinterpret_cast<const char*>(parsed) : document.scanned_.data();
  }

  void null() { add(Kind::kNull); }
  void boolean(bool value) { add(value ? Kind::kTrue : Kind::kFalse); }
  void integer(std::int64_t value) { number(Kind::kInteger, static_cast<std::uint64_t>(value)); }
  void real(double value) { number(Kind::kNumber, std::bit_cast<std::uint64_t>(value)); }
  void string(std::string_view value) {
    if (is_parsed_)
      return add(Kind::kString, value.size(), static_cast<std::size_t>(value.data() - document_->strings_));
    std::string& texts = document_->scanned_;
    add(Kind::kString, value.size(), texts.size());
    texts += value;
    document_->strings_ = texts.data();
  }
  // Begins an array or object.
  void open(Kind kind) {
    const auto& rules = document_->rules_;
    if (open_.size() >= rules.max_depth) {
      refuse(rules.strict ? "nested too deeply"
                          : "nested more than " + std::to_string(rules.max_depth) + " deep");
    }
    open_.push_back(static_cast<std::uint32_t>(nodes().size()));
    add(kind);
  }
  // Ends the innermost one.
  void close() {
    if (document_->rules_.strict && is_in_object()) refuse_duplicates();
    nodes()[open_.back()] = {nodes()[open_.back()].kind(), nodes().size(), 0};
    open_.pop_back();
  }
  bool is_inside() const { return !open_.empty(); }  // of an array or object
  bool is_in_object() const { return document_->nodes_[open_.back()].kind() == Kind::kObject; }

 private:
  std::vector<JsonDocument::Node>& nodes() { return document_->nodes_; }

  // Refuses the value or key that comes next.
  [[noreturn]] void refuse(const std::string& what) const {
    document_->refuse(what, document_->position(document_->nodes_.size()));
  }

  void add(Kind kind, std::size_t extent = 0, std::size_t content = 0) {
    if (const std::size_t most = document_->rules_.max_values; nodes().size() >= most) {
      refuse("more than " + std::to_string(most) + " values");
    }
    nodes().emplace_back(kind, extent, content);
  }
  void number(Kind kind, std::uint64_t bits) {
    document_->numbers_.push_back(bits);
    add(kind, 0, document_->numbers_.size() - 1);
  }
  void refuse_duplicates() {
    keys_.clear();
    for (std::uint32_t key = open_.back() + 1; key < nodes().size(); key = document_->next(key + 1)) {
      keys_.emplace_back(document_->text(key), key);
    }
    std::ranges::sort(keys_);
    const auto same = std::ranges::adjacent_find(keys_, {}, [](const auto& key) { return key.first; });
    if (same == keys_.end()) return;
    document_->refuse("duplicate key '" + std::string(same->first) + "'",
                      document_->position(std::next(same)->second));
  }

  JsonDocument* document_;
  bool is_parsed_;
  std::vector<std::uint32_t> open_;
  std::vector<std::pair<std::string_view, std::uint32_t>> keys_;  // of one object
};

namespace {

// Gives the builder the values that simdjson has parsed, without recursion: they may be nested deeper than
// the call stack allows.
class DomWalk {
 public:
  explicit DomWalk(JsonBuilder& builder) : builder_(builder) {}

  void walk(simdjson::dom::element root) {
    add(root);
    while (!open_.empty()) {
      std::visit([this](auto& contents) { add_next(contents); }, open_.back());
    }
  }

 private:
  using Array = simdjson::dom::array::iterator;
  using Object = simdjson::dom::object::iterator;

  template <class Iterator>
  struct Contents {
    Iterator at, end;
  };

  template <class Iterator>
  void add_next(Contents<Iterator>& contents) {
    if (contents.at == contents.end) {
      open_.pop_back();
      builder_.close();
      return;
    }
    const Iterator at = contents.at;
    ++contents.at;
    if constexpr (std::is_same_v<Iterator, Object>) {
      builder_.string(at.key());
      add(at.value());
    } else {
      add(*at);
    }
  }

  void add(simdjson::dom::element value) {
    using Type = simdjson::dom::element_type;
    switch (value.type()) {
      case Type::ARRAY: {
        const simdjson::dom::array items = value.get_array().value_unsafe();
        open_.emplace_back(Contents<Array>{items.begin(), items.end()});
        return builder_.open(Kind::kArray);
      }
      case Type::OBJECT: {
        const simdjson::dom::object fields = value.get_object().value_unsafe();
        open_.emplace_back(Contents<Object>{fields.begin(), fields.end()});
        return builder_.open(Kind::kObject);
      }
      case Type::INT64:
        return builder_.integer(value.get_int64().value_unsafe());
      case Type::UINT64:  // those that are no int64
        return builder_.real(static_cast<double>(value.get_uint64().value_unsafe()));
      case Type::DOUBLE:
        return builder_.real(value.get_double().value_unsafe());
      case Type::STRING:
        return builder_.string(value.get_string().value_unsafe());
      case Type::BOOL:
        return builder_.boolean(value.get_bool().value_unsafe());
      case Type::NULL_VALUE:
        return builder_.null();
    }
  }

  JsonBuilder& builder_;
  std::vector<std::variant<Contents<Array>, Contents<Object>>> open_;
};

// Reads what simdjson refuses, part by part.  It refuses the first part that is wrong, or finds none but
// integers of more than 64 bits, or Infinity, -Infinity and NaN: Python writes these, and PyTorch 2.6 kept
// them.
class JsonScan {
 public:
  struct Problem {
    std::string what;
    std::size_t position = 0;
  };

  JsonScan(std::string_view text, JsonBuilder& builder, bool with_infinity)
      : text_(text), builder_(builder), with_infinity_(with_infinity) {}

  // Throws a Problem.  Without recursion, as DomWalk.
  void read() {
    bool is_first = value();  // of the innermost array or object
    while (builder_.is_inside()) {
      const bool is_object = builder_.is_in_object();
      if (skip(is_object ? '}' : ']')) {
        builder_.close();
        is_first = false;
        continue;
      }
      if (!is_first && !skip(',')) fail(is_object ? "expected ',' or '}'" : "expected ',' or ']'");
      if (is_object) {
        if (here() != '"') fail("expected a key");
        scalar();
        if (!skip(':')) fail("expected ':'");
      }
      is_first = value();
    }
    here();
    if (at_ < text_.size()) fail("expected the end");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Problem{at_ < text_.size() ? what : "unexpected end of input", at_};
  }

  // Returns the first character after spaces; at the end, one that JSON has nowhere.
  char here() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool skip(char token) {
    const bool is_here = here() == token;
    if (is_here) ++at_;
    return is_here;
  }

  // Reads a value; of an array or object, the bracket.  Returns whether it is one.
  bool value() {
    const bool is_list = here() == '[';
    if (!is_list && here() != '{') return scalar(), false;
    builder_.open(is_list ? Kind::kArray : Kind::kObject);
    ++at_;
    return true;
  }

  void scalar() {
    const std::string_view token = text_.substr(at_, scalar_end(text_, at_) - at_);
    const bool is_infinity = token == "Infinity" || token == "-Infinity" || token == "NaN";
    if (with_infinity_ && is_infinity) {
      builder_.string(token);
    } else if (!parsed(token)) {
      const bool is_digits = token.find_first_not_of("-0123456789") == token.npos;
      if (!is_digits || !parsed(std::string(token) + ".0")) fail(explanation(token));
    }
    at_ += token.size();
  }
  bool parsed(std::string_view token) {
    const auto value = parser_.parse(token.data(), token.size());
    if (value.error() == simdjson::MEMALLOC) throw std::bad_alloc();
    if (value.error() != simdjson::SUCCESS) return false;
    DomWalk(builder_).walk(value.value_unsafe());
    return true;
  }
  static const char* explanation(std::string_view token) {
    const char first = token.empty() ? ' ' : token.front();
    if (first == '-' || (first >= '0' && first <= '9')) return "this is not a number, or it is too large";
    if (first != '"') return "expected a value";
    return token.size() == 1 || token.back() != '"'
               ? "this string does not end"
               : "this string has an unknown escape, a control character or bytes that are not UTF-8";
  }

  std::string_view text_;
  JsonBuilder& builder_;
  bool with_infinity_;
  std::size_t at_ = 0;
  simdjson::dom::parser parser_;
};

}  // namespace

JsonDocument::JsonDocument(std::string_view text, std::string name, JsonRules rules)
    : name_(std::move(name)), rules_(rules) {
  if (text.size() > kMaxText) refuse_long();
  if (rules.strict) source_ = text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  std::string copy;
  copy.reserve(text.size() + kPadding);
  copy = text;
  parse(copy);
}

JsonDocument::JsonDocument(JsonText text, std::string name, JsonRules rules)
    : name_(std::move(name)), rules_(rules) {
  if (text.text.size() > kMaxText) refuse_long();
  if (!rules.strict) {
    parse(text.text);
    return;
  }
  whole_ = std::move(text.text);
  whole_.reserve(whole_.size() + kPadding);
  source_ = whole_;
  if (source_.starts_with(kByteOrderMark)) source_.remove_prefix(kByteOrderMark.size());
  parse(whole_);
}

void JsonDocument::refuse_long() const { refuse("longer than " + std::to_string(kMaxText) + " bytes", 0); }

void JsonDocument::parse(std::string& text) {
  if (parse_fast(text)) return;
  JsonBuilder builder(*this, text.size());
  try {
    std::string_view content = text;
    if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
    JsonScan(content, builder, !rules_.strict).read();
  } catch (const JsonScan::Problem& problem) {
    refuse(rules_.strict ? "invalid JSON: " + problem.what
                         : "not JSON at byte " + std::to_string(problem.position + 1) + ": " + problem.what,
           problem.position);
  }
}

// Returns whether simdjson accepted the text; it does not tell what is wrong, nor where.
bool JsonDocument::parse_fast(std::string& text) {
  const std::size_t size = text.size();
  // simdjson reserves 14 bytes for each byte of the text; graphs need one or two.  Where a limit on memory
  // has no room for that, the scan may still have enough.
  constexpr std::size_t kReserved = 16, kLarge = 1'000'000;
  // Beyond this, its strings, with five bytes more for each, may have no place in a Node.
  constexpr std::size_t kMost = 800'000'000;
  if (size > kMost) return false;
  if (size > kLarge) {
    void* const room = std::malloc(kReserved * size);
    if (room == nullptr) return false;
    std::free(room);
  }
  text.reserve(size + kPadding);
  const std::size_t start = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  simdjson::dom::document document;
  {
    simdjson::dom::parser parser;
    if (parser.allocate(size, rules_.max_depth) != simdjson::SUCCESS) return false;
    const auto root = parser.parse_into_document(document, text.data() + start, size - start, false);
    if (root.error() != simdjson::SUCCESS) return false;
  }
  if (&text != &whole_) std::string().swap(text);  // no longer needed
  JsonBuilder builder(*this, size, document.string_buf.get());
  DomWalk(builder).walk(document.root());
  parsed_ = std::move(document.string_buf);
  return true;
}

void JsonDocument::refuse(const std::string& what, std::size_t position) const {
  if (!rules_.strict) throw Error(rules_.error, name_ + " cannot be parsed: " + what);
  throw Error(rules_.error, what).at(name_ + line_and_column(position));
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
    const bool is_bracket = source_[position] == '[' || source_[position] == '{';
    position = is_bracket ? position + 1 : scalar_end(source_, position);
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

}  // namespace fxtrace::internal
