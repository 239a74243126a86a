#include "symbolic/srepr.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolic/polynomial.h"

namespace fxtrace {
namespace {

using symbolic::AtomKind;

using SymbolText = std::function<std::string(const std::string&)>;

std::string called(const char* function, const std::vector<std::string>& arguments) {
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
      while (i + power < term.atoms.size() && same(term.atoms[i], term.atoms[i + power])) ++power;
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

// Names of functions of two arguments; with floats among them, division has another.
constexpr std::pair<std::string_view, const char*> kSympyNames[] = {{"==", "Equality"},
                                                                    {"!=", "Unequality"},
                                                                    {"<", "StrictLessThan"},
                                                                    {"<=", "LessThan"},
                                                                    {">", "StrictGreaterThan"},
                                                                    {">=", "GreaterThan"},
                                                                    {"+", "Add"},
                                                                    {"*", "Mul"},
                                                                    {"/", "IntTrueDiv"}};

class SreprWriter {
 public:
  explicit SreprWriter(const SymbolText& symbol) : symbol_(symbol) {}

  // Nothing for what has no form.
  std::optional<std::string> write(const Expression& value) const {
    using Kind = Expression::Kind;
    if (const SymInt* size = value.size()) return text_of(*size, symbol_);
    switch (value.kind()) {
      case Kind::kFloat:
        return "Float('" + value.text() + "', precision=53)";
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
  static bool is_integer(const Expression& value) { return value.size() != nullptr; }

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
    const auto left = write(value.parts()[0]), right = write(value.parts()[1]);
    if (!left || !right) return std::nullopt;
    if (value.name() == "-") return called("Add", {*left, called("Mul", {number(-1), *right})});
    if (value.name() == "/" && !(is_integer(value.parts()[0]) && is_integer(value.parts()[1])))
      return called("FloatTrueDiv", {*left, *right});
    const auto* function = std::ranges::find(kSympyNames, std::string_view(value.name()),
                                             [](const auto& row) { return row.first; });
    return function == std::end(kSympyNames) ? std::nullopt
                                             : std::optional(called(function->second, {*left, *right}));
  }

  std::optional<std::string> call(const Expression& value) const {
    if (value.parts().size() != 2) return std::nullopt;
    const auto argument = write(value.parts()[1]);
    const std::string function = value.parts()[0].text();
    if (!argument) return std::nullopt;
    if (function == "float") return called("ToFloat", {*argument});
    if (function == "math.trunc") return called("TruncToInt", {*argument});
    if (function == "math.sqrt") return called("Pow", {*argument, "Rational(1, 2)"});
    return std::nullopt;
  }

  const SymbolText& symbol_;
};

}  // namespace

std::string srepr_symbol(const std::string& name, bool is_positive) {
  return "Symbol('" + name + "', " + (is_positive ? "positive=True, " : "") + "integer=True)";
}

std::optional<std::string> srepr(const Expression& value, const SymbolText& symbol) {
  return SreprWriter(symbol).write(value);
}

}  // namespace fxtrace
