#include "symbolic/size_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>

#include "symbolic/expression.h"
#include "symbolic/polynomial.h"
#include "symbolic/python_operators.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {
namespace {

// Returns "batch·seq²"; divisions and other operations are in parentheses.
std::string factors_text(const symbolic::Term& term) {
  std::string text;
  for (std::size_t i = 0; i < term.atoms.size();) {
    std::size_t power = 1;
    while (i + power < term.atoms.size() && symbolic::same_atom(term.atoms[i], term.atoms[i + power]))
      ++power;
    const bool is_name = term.atoms[i]->kind == symbolic::AtomKind::kSymbol;
    if (i != 0) text += "·";
    text += is_name ? term.atoms[i]->text : "(" + term.atoms[i]->text + ")";
    if (power == 2) text += "²";
    if (power == 3) text += "³";
    if (power > 3) text += "^" + std::to_string(power);
    i += power;
  }
  return text;
}

}  // namespace

std::string readable_size(const SymInt& size, std::string (*number_text)(std::int64_t)) {
  std::string text;
  for (const symbolic::Term& term : symbolic::Terms(size)) {
    const std::string factors = factors_text(term);
    const std::int64_t number = term.coefficient == INT64_MIN ? INT64_MAX : std::abs(term.coefficient);
    const bool is_less = term.coefficient < 0;
    text += text.empty() ? (is_less ? "-" : "") : is_less ? " - " : " + ";
    text += factors;
    const std::string count = number_text(number);
    if (factors.empty() || count != "1") text += (factors.empty() ? "" : "·") + count;
  }
  return text;
}

// SymInt::text(), and the conversion of parsed expressions to SymInts.

using namespace symbolic;  // NOLINT: the same library

namespace {

void append_number(std::string& text, std::int64_t number) {
  std::array<char, 24> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

// Appends the term without its sign; `minus` when a unary minus is written before it.
void append_term(std::string& text, const Term& term, bool minus) {
  const std::int64_t number = std::abs(term.coefficient);
  if (term.atoms.empty()) return append_number(text, number);
  const bool alone = term.atoms.size() == 1 && number == 1 && !minus;
  for (std::size_t i = 0; i < term.atoms.size();) {
    const Atom& atom = *term.atoms[i];
    std::size_t power = 1;
    while (i + power < term.atoms.size() && same_atom(term.atoms[i], term.atoms[i + power])) ++power;
    const bool quotient = atom.kind == AtomKind::kFloorDiv || atom.kind == AtomKind::kMod;
    if (i != 0) text += '*';
    // Python reads -n//2 as (-n)//2 and a*n//2 as (a*n)//2.
    const bool enclosed = quotient && !alone;
    if (enclosed) text += '(';
    text += atom.text;
    if (enclosed) text += ')';
    if (power > 1) append_number(text.append("**"), static_cast<std::int64_t>(power));
    i += power;
  }
  if (number != 1) append_number(text.append("*"), number);
}

constexpr std::size_t kMaxTextLength = 20000;
constexpr std::int64_t kMaxPower = 64;

// A quotient of two SymInts, for sympy's floor(n/2).
struct Quotient {
  SymInt over;
  SymInt under = 1;

  bool whole() const { return under == SymInt(1); }
};

using Arguments = std::vector<Quotient>;

Quotient quotient(const Quotient& a, const Quotient& b) {
  if (b.over == SymInt(0)) throw SymbolicError("division by zero");
  return {a.over * b.under, a.under * b.over};
}
SymInt rounded_down(const Quotient& a) { return floordiv(a.over, a.under); }
SymInt rounded_up(const Quotient& a) { return -floordiv(-a.over, a.under); }

Quotient power(const Quotient& base, const Quotient& exponent) {
  const auto times = exponent.whole() ? exponent.over.number() : std::nullopt;
  if (!times || *times < -1 || *times > kMaxPower) throw SymbolicError("not a power that can be written out");
  if (*times == -1) return quotient({1}, base);
  Quotient result{1};
  for (std::int64_t i = 0; i < *times; ++i) result = {result.over * base.over, result.under * base.under};
  return result;
}

struct Function {
  std::string_view name;
  std::size_t least, most;
  bool whole;  // the function takes integers only
  Quotient (*call)(const Arguments&);
};

Quotient smallest(const Arguments& values) {
  SymInt result = values.front().over;
  for (const Quotient& value : values) result = min(result, value.over);
  return {result};
}
Quotient largest(const Arguments& values) {
  SymInt result = values.front().over;
  for (const Quotient& value : values) result = max(result, value.over);
  return {result};
}
Quotient call_floordiv(const Arguments& values) { return {floordiv(values[0].over, values[1].over)}; }
Quotient call_ceildiv(const Arguments& values) { return {ceildiv(values[0].over, values[1].over)}; }
Quotient call_mod(const Arguments& values) { return {mod(values[0].over, values[1].over)}; }
Quotient call_divide(const Arguments& values) { return quotient(values[0], values[1]); }
Quotient call_power(const Arguments& values) { return power(values[0], values[1]); }
Quotient call_abs(const Arguments& values) { return {max(values[0].over, -values[0].over)}; }
Quotient call_floor(const Arguments& values) { return {rounded_down(values[0])}; }
Quotient call_ceil(const Arguments& values) { return {rounded_up(values[0])}; }
// Rounds towards zero: one of the two is zero, or they are equal.
Quotient call_trunc(const Arguments& values) {
  if (values[0].whole()) return values[0];
  return {max(0, rounded_down(values[0])) + min(0, rounded_up(values[0]))};
}
Quotient call_same(const Arguments& values) { return values[0]; }
Quotient call_modular_indexing(const Arguments& values) {
  return {mod(floordiv(values[0].over, values[1].over), values[2].over)};
}

constexpr std::array<Function, 26> kFunctions{{
    {"Abs", 1, 1, true, call_abs},
    {"CeilDiv", 2, 2, true, call_ceildiv},
    {"CeilToInt", 1, 1, false, call_ceil},
    {"CleanDiv", 2, 2, true, call_floordiv},
    {"FloorDiv", 2, 2, true, call_floordiv},
    {"FloorToInt", 1, 1, false, call_floor},
    {"IntTrueDiv", 2, 2, true, call_divide},
    {"Max", 1, 100, true, largest},
    {"Min", 1, 100, true, smallest},
    {"Mod", 2, 2, true, call_mod},
    {"ModularIndexing", 3, 3, true, call_modular_indexing},
    {"PowByNatural", 2, 2, true, call_power},
    {"PythonMod", 2, 2, true, call_mod},
    {"ToFloat", 1, 1, true, call_same},
    {"TruncToInt", 1, 1, false, call_trunc},
    {"abs", 1, 1, true, call_abs},
    {"ceil", 1, 1, false, call_ceil},
    {"ceiling", 1, 1, false, call_ceil},
    {"float", 1, 1, true, call_same},
    {"floor", 1, 1, false, call_floor},
    {"int", 1, 1, false, call_trunc},
    {"math.ceil", 1, 1, false, call_ceil},
    {"math.floor", 1, 1, false, call_floor},
    {"math.trunc", 1, 1, false, call_trunc},
    {"max", 1, 100, true, largest},
    {"min", 1, 100, true, smallest},
}};

[[noreturn]] void no_size() { throw SymbolicError("not an expression of sizes"); }

const SymInt& integer(const Quotient& value) {
  if (!value.whole()) no_size();
  return value.over;
}

const Function* find_function(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &Function::name);
  return found == kFunctions.end() ? nullptr : found;
}

Quotient quotient_of(const Expression& value);

Quotient quotient_of_call(const std::vector<Expression>& parts) {
  const Function* function = find_function(parts[0].text());
  const std::size_t count = parts.size() - 1;
  if (function == nullptr || count < function->least || count > function->most) no_size();
  Arguments arguments;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    arguments.push_back(quotient_of(parts[i]));
    if (function->whole) integer(arguments.back());
  }
  return function->call(arguments);
}

Quotient quotient_of_binary(const std::string& symbol, const Quotient& left, const Quotient& right) {
  if (symbol == "+" || symbol == "-") {
    const SymInt a = left.over * right.under, b = right.over * left.under;
    return {symbol == "+" ? a + b : a - b, left.under * right.under};
  }
  if (symbol == "*") return {left.over * right.over, left.under * right.under};
  if (symbol == "/") return quotient(left, right);
  if (symbol == "//") return {rounded_down(quotient(left, right))};
  if (symbol == "**") return power(left, right);
  const PythonOperator* op = operator_of_symbol(symbol);
  if (op->operation == nullptr || op->operation->sizes == nullptr) no_size();
  return {op->operation->sizes(integer(left), integer(right))};
}

// Returns the expression as a quotient.  Throws SymbolicError for other expressions.
Quotient quotient_of(const Expression& value) {
  switch (value.kind()) {
    case Expression::Kind::kSize:
      return {*value.size()};
    case Expression::Kind::kNegative: {
      const Quotient positive = quotient_of(value.parts()[0]);
      return {-positive.over, positive.under};
    }
    case Expression::Kind::kBinary:
      return quotient_of_binary(value.name(), quotient_of(value.parts()[0]), quotient_of(value.parts()[1]));
    case Expression::Kind::kCall:
      return quotient_of_call(value.parts());
    default:
      no_size();
  }
}

}  // namespace

std::optional<SymInt> symbolic::size_of(const Expression& value) {
  try {
    return integer(quotient_of(value));
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

bool symbolic::is_size_function(std::string_view name) { return find_function(name) != nullptr; }

std::string SymInt::text() const {
  if (is_number()) return std::to_string(number_);
  const std::vector<Term>& terms = poly_->terms;
  // "3-batch" reads better than "-batch+3".
  std::size_t first = 0;
  while (first < terms.size() && terms[first].coefficient < 0) ++first;
  if (first == terms.size()) first = 0;
  const bool minus = terms[first].coefficient < 0;
  std::string text(minus ? "-" : "");
  append_term(text, terms[first], minus);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i == first) continue;
    text += terms[i].coefficient < 0 ? '-' : '+';
    append_term(text, terms[i], false);
  }
  return text;
}

std::optional<SymInt> SymInt::parse(std::string_view text) {
  return text.size() > kMaxTextLength ? std::nullopt : size_of(Expression::parse(text));
}

}  // namespace fxtrace::internal
