// The normal form of symbolic integers.
//
// 1. Terms are in the order of before(), without zeros; terms with the same atoms are merged.  So sums and
//    products of dimensions have one form.
// 2. floordiv() takes the terms that divide evenly out of the quotient: (n*8 + m)//8 is n + m//8.  It
//    cancels common factors, merges nested quotients ((n//2)//3 is n//6), and folds a rest whose bounds give
//    one value.
// 3. mod() reduces coefficients and nested remainders by the divisor, and takes out common factors.
// 4. min() and max() are flat and sorted; operands that differ by a constant are one.
// 5. What remains of a division is an atom, whose operands are in normal form.  Equal atoms have equal
//    texts.
//
// Equal values may still have different forms, as a divisor of several names is only tried as a whole.  An
// expression beyond the limits below throws SymbolicError.
#include "symbolic/sym_int.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "support/text/identifier.h"
#include "symbolic/interval.h"
#include "symbolic/polynomial.h"

namespace fxtrace::internal {
namespace symbolic {
namespace {

// Limits on expressions.  Sizes of real models stay far below them; they keep hostile ones from taking too
// much time and memory.
constexpr std::size_t kMaxTerms = 128;
constexpr std::size_t kMaxDegree = 16;
constexpr std::size_t kMaxWeight = 500;
constexpr std::size_t kMaxOperands = 16;
constexpr std::size_t kMaxNameLength = 200;
constexpr int kMaxNesting = 24;
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

[[noreturn]] void too_large() { throw SymbolicError("the expression grows too large"); }

const std::vector<Term>& terms_of_polynomial(const SymInt& value) {
  return SymInt::Polynomial::get(value)->terms;
}

// Returns a coefficient, which must not be INT64_MIN: every coefficient of a polynomial can be negated.
std::int64_t coefficient(std::int64_t number) {
  if (number == kLowest) overflow();
  return number;
}

// Makes a value of terms that are in order, without zeros, and with different atoms.
SymInt from_sorted(std::vector<Term> terms) {
  if (terms.empty()) return 0;
  if (terms.front().atoms.empty()) return terms.front().coefficient;
  if (terms.size() > kMaxTerms) too_large();
  SymInt::Polynomial polynomial;
  for (const Term& term : terms) {
    coefficient(term.coefficient);
    if (term.atoms.size() > kMaxDegree) too_large();
    for (const AtomRef& atom : term.atoms) {
      polynomial.weight += atom->weight;
      polynomial.depth = std::max(polynomial.depth, atom->depth);
      polynomial.repeats = polynomial.repeats || atom->repeats || (polynomial.symbols & atom->symbols) != 0;
      polynomial.symbols |= atom->symbols;
    }
  }
  if (polynomial.weight > kMaxWeight) too_large();
  polynomial.terms = std::move(terms);
  return SymInt::Polynomial::wrap(std::move(polynomial));
}

SymInt merge(const std::vector<Term>& a, const std::vector<Term>& b) {
  std::vector<Term> result;
  result.reserve(a.size() + b.size());
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (same_atoms(*i, *j)) {
      const std::int64_t total = add(i->coefficient, j->coefficient);
      if (total != 0) result.push_back({i->atoms, total});
      ++i;
      ++j;
    } else if (before(*i, *j)) {
      result.push_back(*i++);
    } else {
      result.push_back(*j++);
    }
  }
  result.insert(result.end(), i, a.end());
  result.insert(result.end(), j, b.end());
  return from_sorted(std::move(result));
}

SymInt scaled(const SymInt& value, std::int64_t factor) {
  if (value.is_number()) return multiply(*value.number(), factor);
  if (factor == 0) return 0;
  if (factor == 1) return value;
  std::vector<Term> terms = terms_of_polynomial(value);
  for (Term& term : terms) term.coefficient = coefficient(multiply(term.coefficient, factor));
  return from_sorted(std::move(terms));
}

std::string in_parentheses(const std::string& text) { return std::string("(").append(text).append(")"); }

// Returns the text as an operand of // or %, in parentheses unless it cannot be misread.
std::string operand_text(const SymInt& value, bool is_left) {
  const std::string text = value.text();
  if (value.is_number()) return *value.number() < 0 ? in_parentheses(text) : text;
  const std::vector<Term>& terms = terms_of_polynomial(value);
  if (terms.size() > 1 || terms.front().coefficient < 0) return in_parentheses(text);
  const AtomRef atom = single_atom(value);
  if (atom == nullptr) return is_left ? text : in_parentheses(text);
  const bool quotient = atom->kind == AtomKind::kFloorDiv || atom->kind == AtomKind::kMod;
  return quotient ? in_parentheses(text) : text;
}

SymInt make_atom(AtomKind kind, std::vector<SymInt> operands) {
  Atom atom{kind, {}, {}, 1, 1, 0, false};
  for (const SymInt& operand : operands) {
    if (const auto* polynomial = SymInt::Polynomial::get(operand)) {
      atom.weight += polynomial->weight;
      atom.depth = std::max(atom.depth, polynomial->depth + 1);
      atom.repeats = atom.repeats || polynomial->repeats || (atom.symbols & polynomial->symbols) != 0;
      atom.symbols |= polynomial->symbols;
    } else {
      atom.weight += 1;
    }
  }
  if (atom.weight > kMaxWeight || atom.depth > kMaxNesting || operands.size() > kMaxOperands) too_large();
  if (kind == AtomKind::kMin || kind == AtomKind::kMax) {
    atom.text = kind == AtomKind::kMin ? "min(" : "max(";
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (i != 0) atom.text += ',';
      atom.text += operands[i].text();
    }
    atom.text += ')';
  } else {
    atom.text = operand_text(operands[0], true);
    atom.text += kind == AtomKind::kMod ? "%" : "//";
    atom.text += operand_text(operands[1], false);
  }
  atom.operands = std::move(operands);
  return from_atom(std::make_shared<const Atom>(std::move(atom)));
}

bool is_negative(const SymInt& value) {
  return value.is_number() ? *value.number() < 0 : terms_of_polynomial(value).front().coefficient < 0;
}

// whole == divisor * quotient + rest, term by term.
struct Split {
  SymInt quotient, rest;
};

// Divides by a divisor of one term.  Coefficients of the rest are nearer to zero than the divisor's and keep
// their sign; only a number divided by a number rounds down, so that constants of the rest are not negative.
Split split(const SymInt& whole, const Term& divisor) {
  std::vector<Term> quotient, rest;
  for (const Term& term : terms_of(whole)) {
    std::vector<AtomRef> atoms;
    if (!divide_atoms(term.atoms, divisor.atoms, atoms)) {
      rest.push_back(term);
      continue;
    }
    // A number may be INT64_MIN, which a coefficient never is.
    const bool is_number = term.atoms.empty();
    const std::int64_t times = is_number ? floor_divide(term.coefficient, divisor.coefficient)
                                         : term.coefficient / divisor.coefficient;
    const std::int64_t left = is_number ? floor_remainder(term.coefficient, divisor.coefficient)
                                        : term.coefficient % divisor.coefficient;
    if (times != 0) quotient.push_back({std::move(atoms), times});
    if (left != 0) rest.push_back({term.atoms, left});
  }
  // Removing the same atoms from all terms keeps them in order.
  return {from_sorted(std::move(quotient)), from_sorted(std::move(rest))};
}

// Returns whole / divisor when that is a polynomial; else nothing.
std::optional<SymInt> exact_quotient(const SymInt& whole, const SymInt& divisor) {
  const Terms by(divisor);
  SymInt quotient = 0;
  SymInt rest = whole;
  try {
    while (!(rest == SymInt(0))) {
      const Term lead = terms_of(rest).front();
      Term times;
      if (!divide_atoms(lead.atoms, by.front().atoms, times.atoms)) return std::nullopt;
      if (floor_remainder(lead.coefficient, by.front().coefficient) != 0) return std::nullopt;
      times.coefficient = floor_divide(lead.coefficient, by.front().coefficient);
      const SymInt part = product(times);
      quotient = quotient + part;
      rest = rest - part * divisor;
    }
  } catch (const SymbolicError&) {
    return std::nullopt;  // an intermediate result grew too large
  }
  return quotient;
}

// Returns the greatest term that divides all terms of both.
Term common_factor(const SymInt& a, const SymInt& b) {
  std::vector<Term> terms = terms_of(a).vector();
  const Terms others(b);
  terms.insert(terms.end(), others.begin(), others.end());
  Term common = terms.front();
  common.coefficient = 0;
  for (const Term& term : terms) {
    common.coefficient = std::gcd(common.coefficient, coefficient(term.coefficient));
    std::vector<AtomRef> both;
    auto i = common.atoms.begin();
    auto j = term.atoms.begin();
    while (i != common.atoms.end() && j != term.atoms.end()) {
      if (same_atom(*i, *j)) {
        both.push_back(*i++);
        ++j;
      } else if (before(*i, *j)) {
        ++i;
      } else {
        ++j;
      }
    }
    common.atoms = std::move(both);
  }
  return common;
}

// The bounds of a value over all values of its dimensions, from remainders being in 0..divisor-1.
struct Extent {
  std::int64_t low, high;
};
std::optional<Extent> extent_of_remainders(const SymInt& value) {
  Extent extent{0, 0};
  for (const Term& term : terms_of(value)) {
    if (term.atoms.empty()) {
      extent.low = add(extent.low, term.coefficient);
      extent.high = add(extent.high, term.coefficient);
      continue;
    }
    if (term.atoms.size() > 1 || term.atoms.front()->kind != AtomKind::kMod) return std::nullopt;
    const auto divisor = term.atoms.front()->operands[1].number();
    if (!divisor) return std::nullopt;
    std::int64_t& end = term.coefficient < 0 ? extent.low : extent.high;
    std::int64_t most = 0;
    if (__builtin_mul_overflow(*divisor - 1, term.coefficient, &most)) return std::nullopt;
    if (__builtin_add_overflow(end, most, &end)) return std::nullopt;
  }
  return extent;
}

// Returns the atom of a term `atom * coefficient` when it is a quotient or remainder of two values; else
// null.
const Atom* linear_atom(const Term& term, AtomKind kind) {
  return term.atoms.size() == 1 && term.atoms.front()->kind == kind ? term.atoms.front().get() : nullptr;
}

// Returns (p//q + rest)//by as (p + q*rest)//(q*by) for by > 0; when q is not a number, only without a rest.
std::optional<SymInt> merged_quotients(const SymInt& value, std::int64_t by) {
  const Atom* inner = nullptr;
  Term found;
  for (const Term& term : terms_of(value)) {
    const Atom* atom = linear_atom(term, AtomKind::kFloorDiv);
    if (atom == nullptr || term.coefficient != 1) continue;
    if (inner != nullptr) return std::nullopt;  // the choice among several would be arbitrary
    inner = atom;
    found = term;
  }
  if (inner == nullptr) return std::nullopt;
  const SymInt& q = inner->operands[1];
  try {
    const SymInt rest = value - product(found);
    if (!q.is_number() && !(rest == SymInt(0))) return std::nullopt;
    return floordiv(inner->operands[0] + q * rest, q * SymInt(by));
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

// Divides n - n%8 by 8 as 8*(n//8): for values where only remainders prevent an exact division.
std::optional<SymInt> quotient_of_remainders(const SymInt& value, std::int64_t by) {
  SymInt whole = value;
  SymInt more = 0;
  bool any = false;
  try {
    for (const Term& term : terms_of(value)) {
      const Atom* atom = linear_atom(term, AtomKind::kMod);
      if (atom == nullptr || !atom->operands[1].is_number()) continue;
      const std::int64_t step = multiply(*atom->operands[1].number(), term.coefficient);
      if (step % by != 0) continue;
      any = true;
      whole = whole - product(term) + scaled(atom->operands[0], term.coefficient);
      more = more - scaled(floordiv(atom->operands[0], atom->operands[1]), step / by);
    }
    if (!any) return std::nullopt;
    const Split parts = split(whole, Term{{}, by});
    if (!parts.rest.is_number()) return std::nullopt;
    return parts.quotient + more;
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

SymInt floordiv_by_number(const SymInt& value, std::int64_t by) {
  if (by == 0) throw SymbolicError("division by zero: (" + value.text() + ")//0");
  if (by < 0) return floordiv_by_number(-value, multiply(by, -1));
  if (by == 1) return value;
  auto [quotient, rest] = split(value, Term{{}, by});
  if (rest.is_number()) return quotient;
  if (is_negative(rest)) {
    // Rounding down from below zero is rounding up from above: -(-n//8) and (n+7)//8 get one spelling.
    return quotient - floordiv_by_number(SymInt(by - 1) - rest, by);
  }
  if (const std::int64_t common = std::gcd(content_of(rest, false), by); common > 1) {
    return quotient + floordiv_by_number(split(rest, Term{{}, common}).quotient, by / common);
  }
  if (const auto merged = merged_quotients(rest, by)) return quotient + *merged;
  if (const auto extent = extent_of_remainders(rest)) {
    const std::int64_t low = floor_divide(extent->low, by);
    if (low == floor_divide(extent->high, by)) return quotient + SymInt(low);
  }
  if (const auto exact = quotient_of_remainders(rest, by)) return quotient + *exact;
  return quotient + make_atom(AtomKind::kFloorDiv, {rest, by});
}

SymInt floordiv_by_polynomial(const SymInt& value, const SymInt& by) {
  if (value == SymInt(0)) return 0;
  if (is_negative(by)) return floordiv(-value, -by);
  const Term common = common_factor(value, by);
  if (common.coefficient != 1 || !common.atoms.empty()) {  // not zero, as `by` is not
    return floordiv(split(value, common).quotient, split(by, common).quotient);
  }
  const std::vector<Term>& terms = terms_of_polynomial(by);
  if (terms.size() == 1) {
    const Split parts = split(value, terms.front());
    if (!(parts.quotient == SymInt(0))) return parts.quotient + floordiv(parts.rest, by);
  } else if (const auto exact = exact_quotient(value, by)) {
    return *exact;
  }
  return make_atom(AtomKind::kFloorDiv, {value, by});
}

SymInt mod_by_number(const SymInt& value, std::int64_t by) {
  if (by == 0) throw SymbolicError("division by zero: (" + value.text() + ")%0");
  if (by < 0) return -mod_by_number(-value, multiply(by, -1));
  if (by == 1) return 0;
  SymInt rest = split(value, Term{{}, by}).rest;
  if (rest.is_number()) return rest;
  // (p%16 + r)%8 == (p + r)%8
  for (const Term& term : terms_of(rest)) {
    const Atom* atom = linear_atom(term, AtomKind::kMod);
    if (atom == nullptr || !atom->operands[1].is_number()) continue;
    std::int64_t step = 0;
    if (__builtin_mul_overflow(*atom->operands[1].number(), term.coefficient, &step)) continue;
    if (step % by != 0) continue;
    return mod_by_number(rest - product(term) + scaled(atom->operands[0], term.coefficient), by);
  }
  if (const auto extent = extent_of_remainders(rest)) {
    const std::int64_t low = floor_divide(extent->low, by);
    if (low == floor_divide(extent->high, by)) return rest - SymInt(multiply(low, by));
  }
  if (const std::int64_t common = std::gcd(content_of(rest, false), by); common > 1) {
    const Split parts = split(rest, Term{{}, common});
    return scaled(mod_by_number(parts.quotient, by / common), common) + parts.rest;
  }
  return make_atom(AtomKind::kMod, {rest, by});
}

SymInt mod_by_polynomial(const SymInt& value, const SymInt& by) {
  if (value == SymInt(0)) return 0;
  if (is_negative(by)) return -mod(-value, -by);
  const Term common = common_factor(value, by);
  if (common.coefficient != 1 || !common.atoms.empty()) {
    return product(common) * mod(split(value, common).quotient, split(by, common).quotient);
  }
  const std::vector<Term>& terms = terms_of_polynomial(by);
  if (terms.size() == 1) {
    const Split parts = split(value, terms.front());
    if (!(parts.quotient == SymInt(0))) return mod(parts.rest, by);
  } else if (exact_quotient(value, by)) {
    return 0;
  }
  return make_atom(AtomKind::kMod, {value, by});
}

bool differ_by_constant(const SymInt& a, const SymInt& b) {
  if (a.is_number() != b.is_number()) return false;
  if (a.is_number()) return true;
  std::vector<Term> left = terms_of_polynomial(a);
  std::vector<Term> right = terms_of_polynomial(b);
  if (left.back().atoms.empty()) left.pop_back();
  if (right.back().atoms.empty()) right.pop_back();
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const Term& x, const Term& y) {
    return x.coefficient == y.coefficient && same_atoms(x, y);
  });
}

SymInt extremum(AtomKind kind, const std::vector<SymInt>& values) {
  std::vector<SymInt> kept;
  const auto take = [&](const SymInt& value) {
    for (SymInt& other : kept) {
      if (!differ_by_constant(value, other)) continue;
      const bool larger = constant_of(value) > constant_of(other);
      if (larger == (kind == AtomKind::kMax)) other = value;
      return;
    }
    kept.push_back(value);
    if (kept.size() > kMaxOperands) too_large();
  };
  for (const SymInt& value : values) {
    const AtomRef atom = single_atom(value);
    if (atom != nullptr && atom->kind == kind) {
      for (const SymInt& operand : atom->operands) take(operand);
    } else {
      take(value);
    }
  }
  if (kept.size() == 1) return kept.front();
  std::sort(kept.begin(), kept.end(), [](const SymInt& a, const SymInt& b) {
    return a.is_number() != b.is_number() ? a.is_number() : a.text() < b.text();
  });
  return make_atom(kind, std::move(kept));
}

}  // namespace

bool same_atom(const AtomRef& a, const AtomRef& b) { return a == b || a->text == b->text; }

bool before(const AtomRef& a, const AtomRef& b) {
  const bool symbol = a->kind == AtomKind::kSymbol;
  if (symbol != (b->kind == AtomKind::kSymbol)) return symbol;
  return a != b && a->text < b->text;
}

bool same_atoms(const Term& a, const Term& b) {
  return std::equal(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(), same_atom);
}

bool before(const Term& a, const Term& b) {
  if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size();
  for (std::size_t i = 0; i < a.atoms.size(); ++i) {
    if (!same_atom(a.atoms[i], b.atoms[i])) return before(a.atoms[i], b.atoms[i]);
  }
  return false;
}

SymInt sum(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return before(a, b); });
  std::vector<Term> result;
  for (Term& term : terms) {
    if (!result.empty() && same_atoms(result.back(), term)) {
      result.back().coefficient = add(result.back().coefficient, term.coefficient);
    } else {
      if (!result.empty() && result.back().coefficient == 0) result.pop_back();
      result.push_back(std::move(term));
    }
  }
  if (!result.empty() && result.back().coefficient == 0) result.pop_back();
  return from_sorted(std::move(result));
}

SymInt product(const Term& term) { return term.coefficient == 0 ? SymInt(0) : from_sorted({term}); }

SymInt from_atom(const AtomRef& atom) { return from_sorted({Term{{atom}, 1}}); }

AtomRef single_atom(const SymInt& value) {
  if (value.is_number()) return nullptr;
  const std::vector<Term>& terms = terms_of_polynomial(value);
  const bool single = terms.size() == 1 && terms.front().coefficient == 1 && terms.front().atoms.size() == 1;
  return single ? terms.front().atoms.front() : nullptr;
}

SymInt operation(AtomKind kind, const std::vector<SymInt>& operands) {
  switch (kind) {
    case AtomKind::kFloorDiv:
      return floordiv(operands[0], operands[1]);
    case AtomKind::kMod:
      return mod(operands[0], operands[1]);
    default:
      return extremum(kind, operands);
  }
}

bool divide_atoms(const std::vector<AtomRef>& whole, const std::vector<AtomRef>& part,
                  std::vector<AtomRef>& rest) {
  rest.clear();
  auto next = part.begin();
  for (const AtomRef& atom : whole) {
    if (next != part.end() && same_atom(atom, *next)) {
      ++next;
    } else {
      rest.push_back(atom);
    }
  }
  return next == part.end();
}

std::int64_t constant_of(const SymInt& value) {
  if (value.is_number()) return *value.number();
  const Term& last = terms_of_polynomial(value).back();
  return last.atoms.empty() ? last.coefficient : 0;
}

std::int64_t content_of(const SymInt& value, bool with_constant) {
  std::int64_t content = 0;
  for (const Term& term : terms_of(value)) {
    if (with_constant || !term.atoms.empty()) content = std::gcd(content, coefficient(term.coefficient));
  }
  return content;
}

}  // namespace symbolic

using namespace symbolic;  // NOLINT: the same library

SymInt::SymInt(std::int64_t number) : number_(number) {}

SymInt SymInt::symbol(std::string name) {
  if (name.size() > kMaxNameLength || !is_identifier(name))
    throw SymbolicError("not a name for a dimension: '" + name.substr(0, kMaxNameLength) + "'");
  Atom atom{AtomKind::kSymbol, std::move(name)};
  atom.symbols = std::uint64_t{1} << (std::hash<std::string>{}(atom.text) % 64);
  return from_atom(std::make_shared<const Atom>(std::move(atom)));
}

std::optional<std::int64_t> SymInt::number() const {
  return is_number() ? std::optional(number_) : std::nullopt;
}

std::optional<std::string> SymInt::symbol_name() const {
  const AtomRef atom = single_atom(*this);
  if (atom == nullptr || atom->kind != AtomKind::kSymbol) return std::nullopt;
  return atom->text;
}

bool SymInt::operator==(const SymInt& other) const {
  if (is_number() || other.is_number()) {
    return is_number() && other.is_number() && number_ == other.number_;
  }
  if (poly_ == other.poly_) return true;
  return std::equal(
      poly_->terms.begin(), poly_->terms.end(), other.poly_->terms.begin(), other.poly_->terms.end(),
      [](const Term& a, const Term& b) { return a.coefficient == b.coefficient && same_atoms(a, b); });
}

SymInt operator+(const SymInt& a, const SymInt& b) {
  if (a.is_number() && b.is_number()) return add(a.number_, b.number_);
  if (a.is_number() && a.number_ == 0) return b;
  if (b.is_number() && b.number_ == 0) return a;
  return merge(terms_of(a).vector(), terms_of(b).vector());
}

SymInt operator-(const SymInt& a, const SymInt& b) {
  if (a.is_number() && b.is_number()) return subtract(a.number_, b.number_);
  if (b.is_number() && b.number_ == 0) return a;
  return a + -b;
}

SymInt operator-(const SymInt& a) { return scaled(a, -1); }

SymInt operator*(const SymInt& a, const SymInt& b) {
  if (a.is_number()) return scaled(b, a.number_);
  if (b.is_number()) return scaled(a, b.number_);
  const std::vector<Term>& left = terms_of_polynomial(a);
  const std::vector<Term>& right = terms_of_polynomial(b);
  if (left.size() * right.size() > kMaxTerms * 4) too_large();
  std::vector<Term> terms;
  terms.reserve(left.size() * right.size());
  for (const Term& x : left) {
    for (const Term& y : right) {
      Term term{{}, multiply(x.coefficient, y.coefficient)};
      if (x.atoms.size() + y.atoms.size() > kMaxDegree) too_large();
      std::merge(x.atoms.begin(), x.atoms.end(), y.atoms.begin(), y.atoms.end(),
                 std::back_inserter(term.atoms),
                 [](const AtomRef& i, const AtomRef& j) { return before(i, j); });
      terms.push_back(std::move(term));
    }
  }
  return sum(std::move(terms));
}

SymInt floordiv(const SymInt& a, const SymInt& b) {
  if (!b.is_number()) return floordiv_by_polynomial(a, b);
  if (a.is_number()) return floor_divide(a.number_, b.number_);
  return floordiv_by_number(a, b.number_);
}

SymInt mod(const SymInt& a, const SymInt& b) {
  if (!b.is_number()) return mod_by_polynomial(a, b);
  if (a.is_number()) return floor_remainder(a.number_, b.number_);
  return mod_by_number(a, b.number_);
}

SymInt min(const SymInt& a, const SymInt& b) {
  if (a.is_number() && b.is_number()) return std::min(a.number_, b.number_);
  return extremum(AtomKind::kMin, {a, b});
}

SymInt max(const SymInt& a, const SymInt& b) {
  if (a.is_number() && b.is_number()) return std::max(a.number_, b.number_);
  return extremum(AtomKind::kMax, {a, b});
}

SymInt ceildiv(const SymInt& a, const SymInt& b) { return -floordiv(-a, b); }

namespace {

void collect_symbols(const SymInt& value, std::set<std::string>& names) {
  if (value.is_number()) return;
  for (const Term& term : SymInt::Polynomial::get(value)->terms) {
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind == AtomKind::kSymbol) names.insert(atom->text);
      for (const SymInt& operand : atom->operands) collect_symbols(operand, names);
    }
  }
}

// Throws SymbolicError for a name that has no value.
std::int64_t value_of(const SymInt& value, const std::map<std::string, std::int64_t>& values) {
  if (value.is_number()) return *value.number();
  std::int64_t total = 0;
  for (const Term& term : SymInt::Polynomial::get(value)->terms) {
    std::int64_t part = term.coefficient;
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind == AtomKind::kSymbol) {
        const auto found = values.find(atom->text);
        if (found == values.end()) throw SymbolicError("no value for " + atom->text);
        part = multiply(part, found->second);
        continue;
      }
      std::vector<SymInt> operands;
      for (const SymInt& operand : atom->operands) operands.emplace_back(value_of(operand, values));
      part = multiply(part, *operation(atom->kind, operands).number());
    }
    total = add(total, part);
  }
  return total;
}

}  // namespace

std::vector<std::string> SymInt::symbols() const {
  std::set<std::string> names;
  collect_symbols(*this, names);
  return {names.begin(), names.end()};
}

std::optional<std::int64_t> SymInt::evaluate(const std::map<std::string, std::int64_t>& values) const {
  try {
    return value_of(*this, values);
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

SymInt SymInt::substitute(const std::map<std::string, SymInt>& values) const {
  if (is_number() || values.empty()) return *this;
  Sum total;
  bool changed = false;
  for (const Term& term : poly_->terms) {
    SymInt part = term.coefficient;
    for (const AtomRef& atom : term.atoms) {
      SymInt factor = from_atom(atom);
      if (atom->kind == AtomKind::kSymbol) {
        if (const auto found = values.find(atom->text); found != values.end()) {
          factor = found->second;
          changed = true;
        }
      } else {
        std::vector<SymInt> operands;
        bool replaced = false;
        for (const SymInt& operand : atom->operands) {
          operands.push_back(operand.substitute(values));
          replaced = replaced || operands.back().poly_ != operand.poly_;
        }
        if (replaced) factor = operation(atom->kind, operands);
        changed = changed || replaced;
      }
      part = part * factor;
    }
    total.add(part);
  }
  return changed ? total.total() : *this;
}

}  // namespace fxtrace::internal
