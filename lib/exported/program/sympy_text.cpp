#include "exported/program/sympy_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/text/identifier.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {
namespace {

using Kind = Expression::Kind;

// A limit for long texts, as each comma may make the expression one level deeper.
constexpr std::ptrdiff_t kMaxCommas = 2000;

struct Spelling {
  std::string_view sympy, python;
};
constexpr std::array<Spelling, 11> kFunctions{{{"Abs", "abs"},
                                               {"CeilToInt", "math.ceil"},
                                               {"FloorToInt", "math.floor"},
                                               {"Max", "max"},
                                               {"Min", "min"},
                                               {"RoundToInt", "round"},
                                               {"ToFloat", "float"},
                                               {"TruncToFloat", "math.trunc"},
                                               {"TruncToInt", "math.trunc"},
                                               {"ceiling", "math.ceil"},
                                               {"floor", "math.floor"}}};

// Returns the value with the opposite sign, which is written before the first factor.
Expression opposite(const Expression& value) {
  if (value.kind() == Kind::kNegative) return value.parts()[0];
  if (value.kind() == Kind::kBinary && (value.name() == "*" || value.name() == "/"))
    return Expression::binary(value.name(), opposite(value.parts()[0]), value.parts()[1]);
  return Expression::negative(value);
}

Expression sum(const std::vector<Expression>& terms) {
  Expression result = terms.front();
  for (std::size_t i = 1; i < terms.size(); ++i) {
    const Expression& term = terms[i];
    const bool subtracts = term.text().starts_with('-');
    result = Expression::binary(subtracts ? "-" : "+", std::move(result), subtracts ? opposite(term) : term);
  }
  return result;
}

Expression product(const std::vector<Expression>& factors) {
  const bool is_negative = factors.size() > 1 && factors.front().number() == -1;
  Expression result = is_negative ? opposite(factors[1]) : factors[0];
  for (std::size_t i = is_negative ? 2 : 1; i < factors.size(); ++i)
    result = Expression::binary("*", std::move(result), factors[i]);
  return result;
}

// Returns the value of sympy's names that are not symbols: true, false, oo, nan.
Expression constant(const Expression& tree) {
  const auto name = tree.size() == nullptr ? std::nullopt : tree.size()->symbol_name();
  if (name == "true" || name == "false") return Expression::boolean(name == "true");
  if (name == "oo") return Expression::floating(std::numeric_limits<double>::infinity());
  if (name == "nan") return Expression::floating(std::numeric_limits<double>::quiet_NaN());
  return tree;
}

// Converts the tree of an srepr() text, which was parsed as Python.
Expression converted(const Expression& tree) {
  if (tree.kind() == Kind::kText) return Expression::parse(tree.name());  // a symbol, or a float's digits
  if (tree.kind() != Kind::kCall) return constant(tree);
  const std::string name = tree.parts().front().text();
  std::vector<Expression> arguments;
  for (std::size_t i = 1; i < tree.parts().size(); ++i) {
    const Expression& part = tree.parts()[i];
    if (part.kind() != Kind::kKeyword)
      arguments.push_back(converted(part));  // keywords: assumptions, precision
  }
  const std::size_t count = arguments.size();
  const bool is_float = name == "Float" && count == 2;  // digits and precision
  if (is_float ||
      (count == 1 && (name == "Integer" || name == "Float" || name == "Symbol" || name == "Dummy")))
    return arguments[0];
  if (name == "Add" && count > 0) return sum(arguments);
  if (name == "Mul" && count > 0) return product(arguments);
  if (name == "Pow" && count == 2 && arguments[1].number() == -1)
    return Expression::binary("/", 1, arguments[0]);
  if (name == "And" && count > 0) return Expression::all(std::move(arguments));
  if (name == "Or" && count > 0) return Expression::any(std::move(arguments));
  if (name == "Not" && count == 1) return Expression::negation(arguments[0]);
  if (const PythonOperator* op = operator_of_sympy(name); op != nullptr && count == 2)
    return Expression::binary(std::string(op->symbol), arguments[0], arguments[1]);
  const auto* function = std::ranges::find(kFunctions, name, &Spelling::sympy);
  const bool is_known = function != kFunctions.end();
  return Expression::call(is_known ? Expression::parse(function->python) : tree.parts().front(),
                          std::move(arguments));
}

}  // namespace

Expression expression_of_sympy(std::string_view text) {
  // Nearly all texts are one symbol; reading that directly saves a tree of its assumptions.
  constexpr std::string_view kSymbol = "Symbol('";
  if (text.starts_with(kSymbol) && text.find(')') == text.size() - 1) {
    const std::string_view name =
        text.substr(kSymbol.size(), text.find('\'', kSymbol.size()) - kSymbol.size());
    if (is_identifier(name)) return Expression::parse(name);
  }
  Expression value = Expression::parse(text);
  const bool is_srepr =
      (text.find("Symbol(") != std::string_view::npos || text.find("Integer(") != std::string_view::npos ||
       text.find("Float(") != std::string_view::npos) &&
      std::ranges::count(text, ',') <= kMaxCommas;
  if (is_srepr) value = converted(value);
  // Parsing the converted text again simplifies it: max(1, s0), s0**2.
  return value.size() == nullptr && is_srepr ? Expression::parse(value.text()) : value;
}

}  // namespace fxtrace::internal
