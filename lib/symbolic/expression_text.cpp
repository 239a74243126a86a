#include "symbolic/expression_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "support/text/identifier.h"
#include "symbolic/expression.h"
#include "symbolic/polynomial.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {
namespace {

using symbolic::AtomKind;

using SymbolText = std::function<std::string(const std::string&)>;

std::string called(std::string_view function, const std::vector<std::string>& arguments) {
  std::string text = std::string(function) + "(";
  for (const std::string& argument : arguments) text += (text.back() == '(' ? "" : ", ") + argument;
  return text + ")";
}

std::string number(std::int64_t value) { return "Integer(" + std::to_string(value) + ")"; }

std::string text_of(const SymInt& value, const SymbolText& symbol);

std::string text_of(const symbolic::Atom& atom, const SymbolText& symbol) {
  std::vector<std::string> operands;
  for (const SymInt& operand : atom.operands) operands.push_back(text_of(operand, symbol));
  switch (atom.kind) {
    case AtomKind::kSymbol:
      return symbol(atom.text);
    case AtomKind::kFloorDiv:
      return called("FloorDiv", operands);
    case AtomKind::kMod:
      return called("PythonMod", operands);
    case AtomKind::kMin:
      return called("Min", operands);
    case AtomKind::kMax:
      return called("Max", operands);
  }
  return {};
}

std::string text_of(const SymInt& value, const SymbolText& symbol) {
  std::vector<std::string> terms;
  for (const symbolic::Term& term : symbolic::terms_of(value)) {
    std::vector<std::string> factors;
    if (term.coefficient != 1 || term.atoms.empty()) factors.push_back(number(term.coefficient));
    for (std::size_t i = 0; i < term.atoms.size();) {
      std::size_t power = 1;
      while (i + power < term.atoms.size() && same_atom(term.atoms[i], term.atoms[i + power])) ++power;
      std::string atom = text_of(*term.atoms[i], symbol);
      factors.push_back(power == 1 ? std::move(atom)
                                   : called("Pow", {atom, number(static_cast<std::int64_t>(power))}));
      i += power;
    }
    terms.push_back(factors.size() == 1 ? std::move(factors.front()) : called("Mul", factors));
  }
  if (terms.empty()) return number(0);
  return terms.size() == 1 ? std::move(terms.front()) : called("Add", terms);
}

class SreprWriter {
  using Kind = Expression::Kind;

 public:
  explicit SreprWriter(const SymbolText& symbol) : symbol_(symbol) {}

  // Returns the srepr; nothing for an expression that has none.
  std::optional<std::string> write(const Expression& value) const {
    if (const SymInt* size = value.size()) return text_of(*size, symbol_);
    switch (value.kind()) {
      case Kind::kFloat:
        return text_of_float(value.floating());
      case Kind::kVerbatim:  // a float that depends on data
        return is_float_of_data(value.text()) ? std::optional(srepr_symbol(value.text(), false))
                                              : std::nullopt;
      case Kind::kNegative: {
        const auto part = write(value.parts()[0]);
        return part ? std::optional(called("Mul", {number(-1), *part})) : std::nullopt;
      }
      case Kind::kNot: {
        const auto part = write(value.parts()[0]);
        return part ? std::optional(called("Not", {*part})) : std::nullopt;
      }
      case Kind::kAnd:
        return with_all("And", value);
      case Kind::kOr:
        return with_all("Or", value);
      case Kind::kBinary:
      case Kind::kComparison:
        return with_two(value);
      case Kind::kCall:
        return call(value);
      default:
        return std::nullopt;
    }
  }

 private:
  static std::string text_of_float(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "oo" : called("Mul", {number(-1), "oo"});
    return "Float('" + python_float(value) + "', precision=53)";
  }

  static bool is_float(const Expression& value) {
    switch (value.kind()) {
      case Kind::kFloat:
      case Kind::kVerbatim:
        return true;
      case Kind::kCall: {
        const std::string function = value.parts()[0].text();
        if (function == "math.trunc") return false;
        if (function == "float" || function == "math.sqrt") return true;
        return is_float(value.parts().back());
      }
      case Kind::kBinary:
        return value.name() == "/" || std::ranges::any_of(value.parts(), is_float);
      case Kind::kNegative:
        return is_float(value.parts()[0]);
      default:
        return false;
    }
  }

  // Returns whether the exponent is small enough that a reader can compute the power.
  static bool is_small(const Expression& exponent) {
    constexpr double kMost = 8;
    if (const auto whole = exponent.number()) return std::abs(static_cast<double>(*whole)) <= kMost;
    if (exponent.kind() == Kind::kNegative) return is_small(exponent.parts()[0]);
    return exponent.kind() == Kind::kFloat && std::abs(exponent.floating()) <= kMost;
  }

  // Writes an integer where a float is expected.
  std::optional<std::string> as_float(const Expression& value) const {
    if (const auto whole = value.number()) return "Float('" + std::to_string(*whole) + ".0', precision=53)";
    const auto text = write(value);
    return text && !is_float(value) ? std::optional(called("ToFloat", {*text})) : text;
  }

  std::optional<std::string> with_all(const char* function, const Expression& value) const {
    std::vector<std::string> parts;
    for (const Expression& part : value.parts()) {
      const auto text = write(part);
      if (!text) return std::nullopt;
      parts.push_back(*text);
    }
    return called(function, parts);
  }

  std::optional<std::string> with_two(const Expression& value) const {
    const Expression &a = value.parts()[0], &b = value.parts()[1];
    const bool has_floats = is_float(a) || is_float(b);
    if (value.name() == "**" && !(has_floats && is_small(b))) return std::nullopt;
    const auto left = has_floats ? as_float(a) : write(a), right = has_floats ? as_float(b) : write(b);
    if (!left || !right) return std::nullopt;
    if (value.name() == "-") return called("Add", {*left, called("Mul", {number(-1), *right})});
    if (has_floats && value.name() == "//")
      return called("ToFloat", {called("FloorToInt", {called("FloatTrueDiv", {*left, *right})})});
    const PythonOperator& op = *operator_of_symbol(value.name());
    const bool is_of_floats = has_floats && !op.sympy_of_floats.empty();
    const std::string_view function = is_of_floats ? op.sympy_of_floats : op.sympy;
    return function.empty() ? std::nullopt : std::optional(called(function, {*left, *right}));
  }

  std::optional<std::string> call(const Expression& value) const {
    const std::string function = value.parts()[0].text();
    std::vector<std::string> arguments;
    for (std::size_t i = 1; i < value.parts().size(); ++i) {
      const bool is_condition = function == "torch.sym_ite" && i == 1;
      const auto text = is_float(value) && !is_condition && function != "float" ? as_float(value.parts()[i])
                                                                                : write(value.parts()[i]);
      if (!text) return std::nullopt;
      arguments.push_back(*text);
    }
    if (arguments.size() == 1) {
      if (function == "float") return called("ToFloat", arguments);
      if (function == "math.trunc") return called("TruncToInt", arguments);
      if (function == "math.sqrt") return called("FloatPow", {arguments[0], text_of_float(0.5)});
    }
    if (arguments.size() == 2 && function == "max") return called("Max", arguments);
    if (arguments.size() == 2 && function == "min") return called("Min", arguments);
    if (arguments.size() == 3 && function == "torch.sym_ite")
      return called("Piecewise", {called("ExprCondPair", {arguments[1], arguments[0]}),
                                  called("ExprCondPair", {arguments[2], "true"})});
    return std::nullopt;
  }

  const SymbolText& symbol_;
};

}  // namespace

bool is_float_of_data(const std::string& name) {
  constexpr std::string_view kPrefix = "zuf";
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
}

std::string srepr_symbol(const std::string& name, bool is_positive) {
  if (is_float_of_data(name)) return "Symbol('" + name + "')";
  return "Symbol('" + name + "', " + (is_positive ? "positive=True, " : "") + "integer=True)";
}

std::optional<std::string> srepr(const Expression& value, const SymbolText& symbol) {
  return SreprWriter(symbol).write(value);
}

// Expression::parse(): a parser of the Python expressions that programs and files contain.

namespace {

using Kind = Expression::Kind;

constexpr int kMaxDepth = 300;   // a pair of parentheses counts three times
constexpr int kMaxLinks = 2000;  // links of chains such as a.b.c and a+b+c, each a level deep
constexpr std::size_t kMaxLength = 100'000;

struct NoExpression {};

// Returns whether size_of() may return a size: for arithmetic, and calls of functions of numbers.
bool may_be_size(const Expression& value) {
  const auto all = [](const std::vector<Expression>& parts, std::size_t from) {
    return std::all_of(parts.begin() + static_cast<std::ptrdiff_t>(from), parts.end(), may_be_size);
  };
  switch (value.kind()) {
    case Kind::kSize:
      return true;
    case Kind::kNegative:
    case Kind::kBinary:
      return all(value.parts(), 0);
    case Kind::kCall: {
      const std::string function = value.parts().front().text();
      // float(n) is a float, unlike n.
      return function != "float" && symbolic::is_size_function(function) && all(value.parts(), 1);
    }
    default:
      return false;
  }
}

// A recursive descent parser.  Throws NoExpression.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {}

  Expression whole() {
    Expression value = disjunction();
    skip_spaces();
    if (at_ != text_.size()) throw NoExpression();
    return value;
  }

 private:
  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) {
      if (++depth_ > kMaxDepth) throw NoExpression();
    }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& depth_;
  };

  Expression linked(Expression value) {
    if (value.size() == nullptr && ++links_ > kMaxLinks) throw NoExpression();
    return value;
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) throw NoExpression();
  }
  // Takes a symbol unless it is the start of a longer one: "<" but not "<=" or "<<".
  bool take_symbol(std::string_view symbol, std::string_view not_before) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    const std::size_t end = at_ + symbol.size();
    if (end < text_.size() && not_before.find(text_[end]) != std::string_view::npos) return false;
    at_ = end;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    return true;
  }

  Expression disjunction() {
    const Level level(depth_);
    std::vector<Expression> parts{conjunction()};
    while (take_word("or")) parts.push_back(conjunction());
    return Expression::any(std::move(parts));
  }
  Expression conjunction() {
    std::vector<Expression> parts{inversion()};
    while (take_word("and")) parts.push_back(inversion());
    return Expression::all(std::move(parts));
  }
  Expression inversion() {
    const Level level(depth_);
    if (take_word("not")) return Expression::negation(inversion());
    return comparison();
  }

  // a <= b <= c is a <= b and b <= c.
  Expression comparison() {
    std::vector<Expression> parts;
    const auto operand = [this] { return sized(arithmetic(Precedence::kBitOr)); };
    Expression left = operand();
    for (std::string_view symbol = relation(); !symbol.empty(); symbol = relation()) {
      Expression right = operand();
      parts.push_back(Expression::comparison(std::string(symbol), std::move(left), right));
      left = std::move(right);
    }
    return parts.empty() ? left : Expression::all(std::move(parts));
  }
  std::string_view relation() {
    if (const PythonOperator* op = take_operator(Precedence::kCompared)) return op->symbol;
    if (take_word("is")) return take_word("not") ? "is not" : "is";
    if (take_word("in")) return "in";
    return {};
  }

  static Expression sized(Expression value) {
    if (value.size() == nullptr && may_be_size(value)) {
      if (auto size = symbolic::size_of(value)) return *std::move(size);
    }
    return value;
  }

  // Takes an operator of symbols that binds at least as tightly; null when there is none.
  const PythonOperator* take_operator(Precedence least) {
    skip_spaces();
    const PythonOperator* op = operator_at_start(text_.substr(at_));
    if (op == nullptr || op->precedence < least) return nullptr;
    at_ += op->symbol.size();
    return op;
  }

  // Reads operators that bind at least as tightly, each of which takes what is to its left first.
  Expression arithmetic(Precedence least) {
    Expression left = unary();
    while (const PythonOperator* op = take_operator(least)) {
      left = linked(Expression::binary(std::string(op->symbol), std::move(left),
                                       arithmetic(tighter_than(op->precedence))));
    }
    return left;
  }
  Expression unary() {
    const Level level(depth_);
    if (take_least_integer()) return std::numeric_limits<std::int64_t>::min();
    if (take("-")) return Expression::negative(unary());
    if (take("+")) return unary();
    return power();
  }
  // Takes INT64_MIN, whose negative does not fit into 64 bits; not as a base, since -2 ** 2 is -(2 ** 2).
  bool take_least_integer() {
    const std::size_t begin = at_;
    if (!take_symbol("-9223372036854775808", "0123456789.eE")) return false;
    if (!take_symbol("**", "")) return true;
    at_ = begin;
    return false;
  }
  Expression power() {
    Expression base = primary();
    if (!take("**")) return base;
    return Expression::binary("**", std::move(base), unary());
  }

  Expression primary() {
    Expression value = atom();
    for (;;) {
      if (take("(")) {
        std::vector<Expression> arguments;
        while (!take(")")) {
          if (!arguments.empty()) expect(",");
          arguments.push_back(argument());
        }
        value = linked(Expression::call(std::move(value), std::move(arguments)));
      } else if (take("[")) {
        Expression index = disjunction();
        expect("]");
        value = linked(Expression::item(std::move(value), std::move(index)));
      } else if (take_symbol(".", "0123456789")) {
        value = linked(Expression::attribute(std::move(value), identifier()));
      } else {
        return value;
      }
    }
  }

  Expression argument() {
    skip_spaces();
    const std::size_t begin = at_;
    if (at_ < text_.size() && is_letter(text_[at_])) {
      const std::string_view name = word();
      if (!is_python_keyword(name) && take_symbol("=", "=")) {
        return Expression::keyword(std::string(name), disjunction());
      }
    }
    at_ = begin;
    return disjunction();
  }

  Expression atom() {
    skip_spaces();
    if (at_ >= text_.size()) throw NoExpression();
    const char c = text_[at_];
    if (c == '(') return parenthesized();
    if (c == '[') {
      ++at_;
      return Expression::sequence(Kind::kList, items("]"));
    }
    if (c == '{') return dict();
    if (c == '\'' || c == '"') return literal();
    if (is_digit(c) || c == '.') return number();
    if (take_word("None")) return Expression::none();
    if (take_word("True")) return Expression::boolean(true);
    if (take_word("False")) return Expression::boolean(false);
    return Expression::name(identifier());
  }

  Expression parenthesized() {
    ++at_;
    if (take(")")) return Expression::sequence(Kind::kTuple, {});
    Expression first = sized(disjunction());
    if (take(")")) return first;
    expect(",");
    std::vector<Expression> parts = items(")");
    parts.insert(parts.begin(), std::move(first));
    return Expression::sequence(Kind::kTuple, std::move(parts));
  }
  std::vector<Expression> items(std::string_view end) {
    std::vector<Expression> parts;
    while (!take(end)) {
      if (!parts.empty()) {
        expect(",");
        if (take(end)) break;
      }
      parts.push_back(disjunction());
    }
    return parts;
  }

  Expression dict() {
    ++at_;
    std::vector<Expression> parts;
    while (!take("}")) {
      if (!parts.empty()) expect(",");
      parts.push_back(disjunction());
      expect(":");
      parts.push_back(disjunction());
    }
    return Expression::sequence(Kind::kDict, std::move(parts));
  }

  Expression literal() {
    const char quote = text_[at_++];
    std::string value;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\n') throw NoExpression();
      if (text_[at_] == '\\') {
        ++at_;
        constexpr std::string_view kEscaped = "\\'\"";
        if (at_ >= text_.size() || kEscaped.find(text_[at_]) == std::string_view::npos) {
          throw NoExpression();
        }
      }
      value += text_[at_];
    }
    if (at_++ >= text_.size()) throw NoExpression();
    return Expression::text_literal(std::move(value));
  }

  Expression number() {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    std::int64_t integer = 0;
    const auto whole = std::from_chars(begin, end, integer);
    const bool is_whole = whole.ec == std::errc() &&
                          (whole.ptr == end || (*whole.ptr != '.' && *whole.ptr != 'e' && *whole.ptr != 'E'));
    if (is_whole) {
      at_ += static_cast<std::size_t>(whole.ptr - begin);
      if (at_ < text_.size() && is_letter(text_[at_])) throw NoExpression();
      return integer;
    }
    double floating = 0;
    const auto read = std::from_chars(begin, end, floating);
    if (read.ec != std::errc()) throw NoExpression();
    at_ += static_cast<std::size_t>(read.ptr - begin);
    return Expression::floating(floating);
  }

  std::string identifier() {
    const std::string_view name = word();
    if (is_python_keyword(name)) throw NoExpression();
    return std::string(name);
  }
  std::string_view word() {
    skip_spaces();
    const std::size_t begin = at_;
    if (at_ >= text_.size() || !is_letter(text_[at_])) throw NoExpression();
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int links_ = 0;
};

}  // namespace

Expression Expression::parse(std::string_view text) {
  try {
    if (text.size() <= kMaxLength) return ExpressionParser(text).whole();
  } catch (const NoExpression&) {
  }
  return {Kind::kVerbatim, std::string(text), {}};
}

}  // namespace fxtrace::internal
