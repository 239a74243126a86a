#include "operators/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "support/error.h"
#include "support/text/identifier.h"

namespace fxtrace::internal {
namespace {

bool writes_to(const SchemaType& type) {
  return (type.alias && type.alias->writes) || std::any_of(type.parts.begin(), type.parts.end(), writes_to);
}

class Parser {
 public:
  Parser(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  Schema schema() {
    Schema result;
    expect("(");
    bool keyword_only = false;
    while (!accept(")")) {
      if (!at_start_) expect(",");
      at_start_ = false;
      if (accept("...")) {
        result.is_variadic = true;
      } else if (accept("*")) {
        keyword_only = true;
      } else {
        result.arguments.push_back(argument(keyword_only));
      }
    }
    expect("->");
    if (accept("...")) {
      result.has_variadic_results = true;
    } else if (accept("(")) {
      while (!accept(")")) {
        if (!result.results.empty()) expect(",");
        result.results.push_back(type());
        word(false);  // a result's name
      }
    } else {
      result.results.push_back(type());
      word(false);
    }
    skip_spaces();
    if (at_ != text_.size()) fail("the end");
    return result;
  }

 private:
  static constexpr int kMaxDepth = 64;

  SchemaArgument argument(bool keyword_only) {
    SchemaArgument result;
    result.keyword_only = keyword_only;
    result.type = type();
    result.length = length_;
    result.is_written = writes_to(result.type);
    result.name = word(true);
    if (accept("=")) result.default_value = default_value();
    return result;
  }

  // Reads a default value, up to the "," or ")" that ends the argument.
  std::string default_value() {
    skip_spaces();
    const std::size_t begin = at_;
    int depth = 0;
    char quote = '\0';
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != '\0') {
        if (c == '\\') {
          ++at_;
        } else if (c == quote) {
          quote = '\0';
        }
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '[' || c == '(') {
        ++depth;
      } else if ((c == ']' || c == ')') && depth > 0) {
        --depth;
      } else if (depth == 0 && (c == ',' || c == ')')) {
        break;
      }
    }
    if (at_ >= text_.size() || at_ == begin) fail("a default value");
    return std::string(text_.substr(begin, at_ - begin));
  }

  SchemaType type() {
    if (++depth_ > kMaxDepth) fail("a type with fewer levels");
    SchemaType result;
    if (accept("(")) {
      result.name = "Tuple";
      result.parts = types();
    } else {
      result.name = word(true);
      static constexpr std::array<std::string_view, 5> kOfTypes{"Dict", "Future", "Await", "RRef", "Tuple"};
      const bool has_parts =
          std::find(kOfTypes.begin(), kOfTypes.end(), result.name) != kOfTypes.end() && accept("(");
      if (has_parts) result.parts = types();
    }
    length_.reset();
    result.alias = alias();
    for (int levels = depth_;; ++levels) {
      if (levels > kMaxDepth) fail("a type with fewer levels");
      if (accept("?")) {
        result = around("Optional", std::move(result));
      } else if (accept("[")) {
        result = around("List", std::move(result));
        length_.reset();
        if (!accept("]")) {
          length_ = number();
          expect("]");
        }
      } else {
        break;
      }
      result.alias = alias();
    }
    --depth_;
    return result;
  }

  std::vector<SchemaType> types() {
    std::vector<SchemaType> result;
    while (!accept(")")) {
      if (!result.empty()) expect(",");
      result.push_back(type());
    }
    return result;
  }

  static SchemaType around(const char* name, SchemaType inner) {
    SchemaType result;
    result.name = name;
    result.parts.push_back(std::move(inner));
    return result;
  }

  std::optional<AliasSet> alias() {
    if (!accept("(")) return std::nullopt;
    AliasSet result;
    const auto names = [&](std::vector<std::string>& into) {
      do {
        into.push_back(accept("*") ? "*" : word(true));
      } while (accept("|"));
      result.writes = accept("!") || result.writes;
    };
    names(result.before);
    if (accept("->")) {
      names(result.after);
    } else {
      result.after = result.before;
    }
    expect(")");
    return result;
  }

  std::int64_t number() {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  // Reads a name, with dots in those of classes; empty when there is none and none is required.
  std::string word(bool required) {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || (text_[at_] == '.' && at_ > begin))) ++at_;
    if (required && at_ == begin) fail("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail("'" + std::string(token) + "'");
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw input_error("the schema '" + std::string(text_.substr(0, 200)) + "': expected " + expected +
                      " at character " + std::to_string(at_ + 1));
  }

  std::string_view text_;
  std::size_t at_;
  int depth_ = 0;
  bool at_start_ = true;
  std::optional<std::int64_t> length_;  // of the last type when it is a list or an optional list
};

}  // namespace

bool SchemaType::is_variable() const {
  static constexpr std::array<std::string_view, 5> kTypes{"int", "float", "bool", "str", "complex"};
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         std::find(kTypes.begin(), kTypes.end(), name) == kTypes.end() && name.find('.') == std::string::npos;
}

const SchemaType& SchemaType::required() const { return is_optional() ? parts.front().required() : *this; }

const SchemaType& SchemaType::innermost() const {
  return is_optional() || is_list() ? parts.front().innermost() : *this;
}

Schema parse_schema(std::string_view text, std::size_t at) { return Parser(text, at).schema(); }

}  // namespace fxtrace::internal
