#include "symbolic/srepr.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace fxtrace::internal
