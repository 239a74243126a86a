#include "exported/json_document.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "support/error.h"

namespace fxtrace {

using Kind = JsonValue::Kind;

// Receives what nlohmann's parser finds.
class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonReader(JsonDocument& document) : document_(&document) {}

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
  bool key(string_t& value) override { return add_text(value); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Kind::kArray); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    problem = "it is no JSON at byte " + std::to_string(position);
    is_syntax = error.id != 406;
    if (!is_syntax) problem = "a number at byte " + std::to_string(position) + " is too large";
    return false;
  }

  std::string problem;
  bool is_syntax = false;  // the problem is that the text is no JSON

 private:
  bool add(Kind kind) {
    auto& entries = document_->entries_;
    if (entries.size() >= JsonDocument::kMaxValues) {
      problem = "it has more than " + std::to_string(JsonDocument::kMaxValues) + " values";
      return false;
    }
    JsonDocument::Entry entry{};
    entry.kind = kind;
    entry.next = static_cast<std::uint32_t>(entries.size() + 1);
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
  bool open(Kind kind) {
    if (open_.size() >= JsonDocument::kMaxDepth) {
      problem = "it is nested more than " + std::to_string(JsonDocument::kMaxDepth) + " deep";
      return false;
    }
    open_.push_back(static_cast<std::uint32_t>(document_->entries_.size()));
    return add(kind);
  }
  bool close() {
    document_->entries_[open_.back()].next = static_cast<std::uint32_t>(document_->entries_.size());
    open_.pop_back();
    return true;
  }

  JsonDocument* document_;
  std::vector<std::uint32_t> open_;
};

namespace {

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

}  // namespace

JsonDocument::JsonDocument(std::string_view text, std::string what) : what_(std::move(what)) {
  JsonReader reader(*this);
  if (text.size() > kMaxText) {
    reader.problem = "it is longer than " + std::to_string(kMaxText) + " bytes";
  } else if (const std::size_t end = text.find('\0'); end != std::string_view::npos) {
    // To nlohmann's parser this is the end of the text.
    reader.problem = "it is no JSON at byte " + std::to_string(end);
  } else if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader) && reader.is_syntax) {
    if (const auto standard = with_quoted_numbers(text)) {
      reader = JsonReader(*this);
      entries_.clear();
      strings_.clear();
      nlohmann::json::sax_parse(*standard, &reader);
    }
  }
  if (!reader.problem.empty()) throw input_error(what_ + " cannot be parsed: " + reader.problem);
}

std::string JsonDocument::place(std::uint32_t at) const {
  std::string text_so_far;
  std::uint32_t current = 0;
  while (current != at) {
    const Entry& entry = entries_[current];
    const bool object = entry.kind == Kind::kObject;
    std::uint32_t child = current + 1;
    for (std::size_t index = 0;; ++index) {
      const std::uint32_t value = object ? child + 1 : child;
      if (at < entries_[value].next) {
        if (object) {
          text_so_far += (text_so_far.empty() ? "" : ".") + std::string(text(child).substr(0, 80));
        } else {
          text_so_far += "[" + std::to_string(index) + "]";
        }
        current = value;
        break;
      }
      child = entries_[value].next;
    }
    if (text_so_far.size() > 300) return text_so_far + "...";
  }
  return text_so_far;
}

// --- JsonValue ---

Kind JsonValue::kind() const { return document_->entries_[at_].kind; }

void JsonValue::fail(const std::string& what) const {
  const std::string place = document_->place(at_);
  throw input_error(document_->what_ + ": " + (place.empty() ? "" : place + ": ") + what);
}

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

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  std::optional<JsonValue> found;
  const Range range = fields();
  for (auto field = range.begin(); field != range.end(); ++field) {
    if (field.key() == key) found = *field;
  }
  if (found && found->is_null()) return std::nullopt;
  return found;
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
