#include "exported/sympy_text.h"

#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

namespace fxtrace {
namespace {

constexpr int kMaxTextDepth = 200;

// How tightly an expression binds in Python, loosest first.
enum Binding { kLoose, kComparison, kSum, kProduct, kUnary, kPower, kAtom };

struct Term {
  std::string text;
  Binding binding = kAtom;
};

std::string in(const Term& term, Binding at_least) {
  return term.binding >= at_least ? term.text : "(" + term.text + ")";
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<std::string> whole() {
    const auto term = expression(0);
    skip_spaces();
    if (!term || at_ != text_.size()) return std::nullopt;
    return term->text;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '.' || text_[at_] == '-')) {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }
  std::optional<std::string_view> quoted() {
    skip_spaces();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const char quote = text_[at_];
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const auto inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  std::optional<Term> expression(int depth) {
    if (depth > kMaxTextDepth) return std::nullopt;
    const auto name = word();
    if (name.empty()) return std::nullopt;
    if (!take('(')) return Term{std::string(name), name.front() == '-' ? kUnary : kAtom};
    std::vector<Term> arguments;
    while (!take(')')) {
      if (!arguments.empty() && !take(',')) return std::nullopt;
      if (const auto text = quoted()) {  // the name of a symbol, the digits of a float
        if (text->empty()) return std::nullopt;
        arguments.push_back({std::string(*text), kAtom});
        continue;
      }
      const auto argument = expression(depth + 1);
      if (!argument) return std::nullopt;
      if (take('=')) {  // an assumption about a symbol
        if (word().empty()) return std::nullopt;
        if (arguments.empty()) return std::nullopt;
        continue;
      }
      arguments.push_back(*argument);
    }
    return call(name, arguments);
  }

  static Term joined(const std::vector<Term>& terms, std::string_view between, Binding binding,
                     Binding each) {
    std::string text;
    for (const Term& term : terms) {
      if (!text.empty()) text += between;
      text += in(term, each);
    }
    return {text, binding};
  }

  static Term sum(const std::vector<Term>& terms) {
    std::string text;
    for (const Term& term : terms) {
      std::string part = in(term, kSum);
      if (text.empty()) {
        text = part;
      } else if (part.front() == '-') {
        text += " - " + part.substr(1);
      } else {
        text += " + " + part;
      }
    }
    return {text, kSum};
  }

  static Term product(const std::vector<Term>& terms) {
    if (terms.size() > 1 && terms.front().text == "-1") {
      const std::vector<Term> rest(terms.begin() + 1, terms.end());
      const Term positive = rest.size() == 1 ? rest.front() : joined(rest, "*", kProduct, kUnary);
      return {"-" + in(positive, kProduct), kProduct};
    }
    return joined(terms, "*", kProduct, kUnary);
  }

  static Term call(std::string_view name, const std::vector<Term>& arguments) {
    const std::size_t count = arguments.size();
    if (count == 1 && (name == "Integer" || name == "Float" || name == "Symbol" || name == "Dummy")) {
      const std::string& text = arguments[0].text;
      return {text, text.starts_with("-") ? kUnary : kAtom};
    }
    if (name == "Float" && count == 2) return {arguments[0].text, kAtom};  // digits and precision
    if (name == "Add" && count > 0) return sum(arguments);
    if (name == "Mul" && count > 0) return product(arguments);
    if (name == "Pow" && count == 2) {
      if (arguments[1].text == "-1") return {"1/" + in(arguments[0], kPower), kProduct};
      return {in(arguments[0], kAtom) + "**" + in(arguments[1], kAtom), kPower};
    }
    if (name == "Not" && count == 1) return {"not " + in(arguments[0], kComparison), kLoose};
    struct Operator {
      std::string_view name, symbol;
      Binding binding;
    };
    static constexpr std::array<Operator, 19> kOperators{{
        {"FloorDiv", "//", kProduct},
        {"CleanDiv", "//", kProduct},
        {"IntTrueDiv", "/", kProduct},
        {"FloatTrueDiv", "/", kProduct},
        {"Rational", "/", kProduct},
        {"Mod", " % ", kProduct},
        {"PythonMod", " % ", kProduct},
        {"PowByNatural", "**", kPower},
        {"FloatPow", "**", kPower},
        {"LShift", " << ", kLoose},
        {"RShift", " >> ", kLoose},
        {"Equality", " == ", kComparison},
        {"Unequality", " != ", kComparison},
        {"StrictLessThan", " < ", kComparison},
        {"LessThan", " <= ", kComparison},
        {"StrictGreaterThan", " > ", kComparison},
        {"GreaterThan", " >= ", kComparison},
        {"And", " and ", kLoose},
        {"Or", " or ", kLoose},
    }};
    for (const auto& op : kOperators) {
      const bool logical = op.name == "And" || op.name == "Or";
      if (name != op.name || (logical ? count < 1 : count != 2)) continue;
      const auto tighter = static_cast<Binding>(op.binding + 1);
      if (logical) return joined(arguments, op.symbol, kLoose, kComparison);
      // The left side of a product may be a product; a power binds to the right and takes atoms only.
      const Binding left = op.binding == kProduct ? kProduct : op.binding == kPower ? kAtom : tighter;
      const Binding right = op.binding == kPower ? kAtom : tighter;
      return {in(arguments[0], left) + std::string(op.symbol) + in(arguments[1], right), op.binding};
    }
    std::string function(name);
    if (name == "Max") function = "max";
    if (name == "Min") function = "min";
    if (name == "Abs") function = "abs";
    if (name == "floor" || name == "FloorToInt") function = "math.floor";
    if (name == "ceiling" || name == "CeilToInt") function = "math.ceil";
    if (name == "TruncToInt" || name == "TruncToFloat") function = "math.trunc";
    if (name == "ToFloat") function = "float";
    if (name == "RoundToInt") function = "round";
    const Term inside = joined(arguments, ", ", kLoose, kLoose);
    return {function + "(" + inside.text + ")", kAtom};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string sympy_to_python(std::string_view text) {
  const bool is_srepr = text.find("Symbol(") != std::string_view::npos ||
                        text.find("Integer(") != std::string_view::npos ||
                        text.find("Float(") != std::string_view::npos;
  if (is_srepr) {
    if (const auto python = Parser(text).whole()) return *python;
  }
  return std::string(text);
}

}  // namespace fxtrace
