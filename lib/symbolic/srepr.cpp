#include "symbolic/srepr.h"

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
      factors.push_back(
          power == 1 ? std::move(atom) : called("Pow", {atom, number(static_cast<std::int64_t>(power))}));
      i += power;
    }
    terms.push_back(factors.size() == 1 ? std::move(factors.front()) : called("Mul", factors));
  }
  if (terms.empty()) return number(0);
  return terms.size() == 1 ? std::move(terms.front()) : called("Add", terms);
}

const char* function_of(Relation relation) {
  switch (relation) {
    case Relation::kEqual:
      return "Equality";
    case Relation::kNotEqual:
      return "Unequality";
    case Relation::kLess:
      return "StrictLessThan";
    case Relation::kLessEqual:
      return "LessThan";
    case Relation::kGreater:
      return "StrictGreaterThan";
    case Relation::kGreaterEqual:
      return "GreaterThan";
  }
  return "";
}

}  // namespace

std::string srepr_symbol(const std::string& name, bool is_positive) {
  return "Symbol('" + name + "', " + (is_positive ? "positive=True, " : "") + "integer=True)";
}

std::optional<std::string> srepr(const Expression& value, const SymbolText& symbol) {
  if (const SymInt* size = value.size()) return text_of(*size, symbol);
  const auto relation = value.relation();
  if (!relation) return std::nullopt;
  return called(function_of(*relation), {text_of(*value.parts()[0].size(), symbol),
                                         text_of(*value.parts()[1].size(), symbol)});
}

}  // namespace fxtrace
