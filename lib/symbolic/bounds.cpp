#include "symbolic/bounds.h"

#include <map>
#include <vector>

#include "symbolic/interval.h"

namespace fxtrace::internal::symbolic {
namespace {

constexpr std::int64_t kMaxDenominator = 1 << 30;
constexpr int kMaxRewrites = 6;
constexpr std::size_t kMaxExpanded = 256;
constexpr std::size_t kRewriteCost = 4;  // in visits of atoms

// Returns the first atom of one of two kinds; null when there is none.
AtomRef find_atom(const SymInt& value, AtomKind kind, AtomKind or_kind) {
  for (const Term& term : terms_of(value)) {
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind == kind || atom->kind == or_kind) return atom;
    }
  }
  return nullptr;
}

bool has_product(const SymInt& value) {
  return !value.is_number() && SymInt::Polynomial::get(value)->terms.front().atoms.size() > 1;
}

// Divides the term by one atom; returns false when the atom is not in it.
bool take_atom(const Term& term, const AtomRef& atom, Term& rest) {
  rest.coefficient = term.coefficient;
  return divide_atoms(term.atoms, {atom}, rest.atoms);
}

// Divides a term by q, which must have one term; returns false when it is not divisible.
bool divide_term(const Term& whole, const SymInt& q, Term& quotient) {
  const Terms terms(q);
  if (terms.size() != 1 || whole.coefficient % terms.front().coefficient != 0) return false;
  quotient.coefficient = whole.coefficient / terms.front().coefficient;
  return divide_atoms(whole.atoms, terms.front().atoms, quotient.atoms);
}

}  // namespace

bool has_symbols_only(const SymInt& value) {
  if (value.is_number()) return true;
  for (const Term& term : SymInt::Polynomial::get(value)->terms) {
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind != AtomKind::kSymbol) return false;
    }
  }
  return true;
}

SymInt replace_atom(const SymInt& value, const AtomRef& atom, const SymInt& by) {
  Sum total;
  for (const Term& term : terms_of(value)) {
    SymInt factors = 1;
    Term left = term;
    Term rest;
    while (take_atom(left, atom, rest)) {
      factors = factors * by;
      left = rest;
    }
    total.add(product(left) * factors);
  }
  return total.total();
}

Fraction without_quotients(const SymInt& value) {
  Fraction result{value, 1};
  for (int round = 0; round < kMaxRewrites; ++round) {
    // Prefers quotients that disappear without a new denominator.
    Sum parts;
    bool changed = false;
    AtomRef in_the_way;
    for (const Term& term : terms_of(result.numerator)) {
      SymInt part = product(term);
      for (const AtomRef& atom : term.atoms) {
        if (atom->kind != AtomKind::kFloorDiv) continue;
        const SymInt& p = atom->operands[0];
        const SymInt& q = atom->operands[1];
        Term rest, quotient;
        if (!take_atom(term, atom, rest)) continue;
        if (divide_term(rest, q, quotient)) {
          part = product(quotient) * (p - mod(p, q));
          changed = true;
          break;
        }
        if (in_the_way == nullptr && q.is_number()) in_the_way = atom;
      }
      parts.add(part);
    }
    SymInt next = parts.total();
    if (!changed) {
      if (in_the_way == nullptr) break;
      const std::int64_t by = *in_the_way->operands[1].number();
      if (by > kMaxDenominator / result.denominator) break;
      next = next * SymInt(by);
      result.denominator *= by;
    }
    result.numerator = next;
  }
  return result;
}

SymInt without_remainders(const SymInt& value) {
  SymInt result = value;
  for (int round = 0; round < kMaxRewrites; ++round) {
    const AtomRef atom = find_atom(result, AtomKind::kMod, AtomKind::kMod);
    if (atom == nullptr) break;
    const SymInt& p = atom->operands[0];
    const SymInt& q = atom->operands[1];
    result = replace_atom(result, atom, p - q * floordiv(p, q));
  }
  return result;
}

Interval BoundsFinder::find_interval(const SymInt& value, int effort) {
  if (const auto number = value.number()) return Interval::from(*number);
  if (!knowledge_.spend(weight_of(value))) return {};
  Interval best = plain(value, effort);
  // When every dimension occurs once, other forms give the same bounds.
  if (effort <= 0 || !has_repeats(value) || done(best)) return best;
  if (!knowledge_.spend(kRewriteCost * weight_of(value))) return best;
  const bool symbols_only = has_symbols_only(value);
  try {
    if (has_product(value)) best = intersection(best, from_lowest(value, effort));
    if (symbols_only || done(best)) return best;
    if (const auto cases = by_cases(value, effort)) return intersection(best, *cases);
    if (find_atom(value, AtomKind::kFloorDiv, AtomKind::kFloorDiv) != nullptr) {
      const Fraction fraction = without_quotients(value);
      if (!(fraction.numerator == value)) {
        const std::optional<Relation> goal = goal_;
        if (fraction.denominator != 1) goal_.reset();  // 1/2 is not above zero when it is an integer
        const Interval scaled = find_interval(fraction.numerator, effort - 1);
        goal_ = goal;
        best = intersection(best, {wide_ceil_divide(scaled.low, fraction.denominator),
                                   wide_floor_divide(scaled.high, fraction.denominator)});
        if (done(best)) return best;
      }
    }
    if (find_atom(value, AtomKind::kMod, AtomKind::kMod) != nullptr) {
      const SymInt other = without_remainders(value);
      if (!(other == value)) best = intersection(best, find_interval(other, effort - 1));
      if (done(best)) return best;
    }
    best = intersection(best, by_limits(value, effort));
  } catch (const SymbolicError&) {
    // One of the forms is too large; the bounds of the others hold.
  }
  return best;
}

Interval BoundsFinder::of_atom(const Atom& atom, int effort) {
  if (atom.kind == AtomKind::kSymbol) return knowledge_.range(atom.text);
  const std::optional<Relation> goal = goal_;
  goal_.reset();
  std::vector<Interval> operands;
  for (const SymInt& operand : atom.operands) operands.push_back(find_interval(operand, effort - 1));
  goal_ = goal;
  const Interval& p = operands[0];
  const Interval& q = operands[1];
  switch (atom.kind) {
    case AtomKind::kFloorDiv:
      return floor_divide(p, q);
    case AtomKind::kMod: {
      if (const auto known = knowledge_.known_remainder(atom.operands[0], atom.operands[1])) {
        if (const auto number = known->number()) return Interval::from(*number);
      }
      Interval result{kInfinity, -kInfinity};
      if (q.high >= 1) result = hull(result, {0, q.high == kInfinity ? kInfinity : q.high - 1});
      if (q.low <= -1) result = hull(result, {q.low == -kInfinity ? -kInfinity : q.low + 1, 0});
      if (result.low > result.high) return {};
      if (p.low >= 0 && q.low >= 1) {
        result.high = std::min(result.high, p.high);
        if (p.high < q.low) return p;
      }
      if (const auto divisor = atom.operands[1].number(); divisor && *divisor > 0) {
        const Wide turn = wide_floor_divide(p.low, *divisor);
        const bool finite = p.low > -kFarthest && p.high < kFarthest;
        if (finite && turn == wide_floor_divide(p.high, *divisor)) {
          return {p.low - turn * *divisor, p.high - turn * *divisor};
        }
      }
      return result;
    }
    default: {
      Interval result = operands[0];
      const bool larger = atom.kind == AtomKind::kMax;
      for (const Interval& operand : operands) {
        result.low = larger ? std::max(result.low, operand.low) : std::min(result.low, operand.low);
        result.high = larger ? std::max(result.high, operand.high) : std::min(result.high, operand.high);
      }
      // The larger of two numbers is at least half of their sum: max(n,-n) is not negative.
      if (operands.size() == 2 && !atom.operands[0].is_number()) {
        if (const auto sum = (atom.operands[0] + atom.operands[1]).number()) {
          if (larger) result.low = std::max(result.low, wide_ceil_divide(*sum, 2));
          if (!larger) result.high = std::min(result.high, wide_floor_divide(*sum, 2));
        }
      }
      return result;
    }
  }
}

Interval BoundsFinder::plain(const SymInt& value, int effort) {
  Interval total = Interval::from(0);
  for (const Term& term : SymInt::Polynomial::get(value)->terms) {
    Interval part = Interval::from(term.coefficient);
    for (std::size_t i = 0; i < term.atoms.size();) {
      std::size_t times = 1;
      while (i + times < term.atoms.size() && same_atom(term.atoms[i], term.atoms[i + times])) ++times;
      part = part * power(of_atom(*term.atoms[i], effort), times);
      i += times;
    }
    total = total + part;
  }
  return total;
}

Interval BoundsFinder::from_lowest(const SymInt& value, int effort) {
  // Atoms are numbered in the order of their first use; a term is a sorted list of numbers.
  std::map<std::string, std::size_t> indices;
  std::vector<Interval> ranges;
  std::map<std::vector<std::size_t>, Wide> expanded;
  bool shifted = false;
  for (const Term& term : terms_of(value)) {
    std::map<std::vector<std::size_t>, Wide> part{{{}, term.coefficient}};
    for (const AtomRef& atom : term.atoms) {
      const auto [entry, is_new] = indices.try_emplace(atom->text, ranges.size());
      if (is_new) ranges.push_back(of_atom(*atom, effort - 1));
      const Wide low = ranges[entry->second].low;
      const Wide offset = low > -kFarthest && low < kFarthest ? low : 0;
      shifted = shifted || offset != 0;
      std::map<std::vector<std::size_t>, Wide> next;
      for (const auto& [atoms, factor] : part) {
        std::vector<std::size_t> longer = atoms;
        longer.insert(std::upper_bound(longer.begin(), longer.end(), entry->second), entry->second);
        next[longer] += factor;
        if (offset != 0) next[atoms] += factor * offset;
      }
      for (const auto& [atoms, factor] : next) {
        if (factor > kFarthest || factor < -kFarthest) return {};
      }
      part = std::move(next);
      if (part.size() > kMaxExpanded) return {};
    }
    for (const auto& [atoms, factor] : part) expanded[atoms] += factor;
    if (expanded.size() > kMaxExpanded) return {};
  }
  if (!shifted) return {};
  Interval total = Interval::from(0);
  for (const auto& [atoms, factor] : expanded) {
    Interval part = {saturated_low(factor), saturated_high(factor)};
    for (const std::size_t index : atoms) {
      Interval range = ranges[index];
      if (range.low > -kFarthest && range.low < kFarthest) {
        range = {0, range.high == kInfinity ? kInfinity : saturated_high(range.high - range.low)};
      }
      part = part * range;
    }
    total = total + part;
  }
  return total;
}

std::optional<Interval> BoundsFinder::by_cases(const SymInt& value, int effort) {
  const AtomRef atom = find_atom(value, AtomKind::kMin, AtomKind::kMax);
  if (atom == nullptr) return std::nullopt;
  // The sign of the coefficient when the atom occurs in one term only, and alone there; else 0.
  int sign = 0;
  std::size_t uses = 0;
  for (const Term& term : terms_of(value)) {
    Term rest;
    if (!take_atom(term, atom, rest)) continue;
    ++uses;
    if (rest.atoms.empty()) sign = term.coefficient > 0 ? 1 : -1;
  }
  if (uses != 1) sign = 0;
  if (atom->kind == AtomKind::kMin) sign = -sign;
  Interval result{kInfinity, -kInfinity};
  Interval each;
  for (const SymInt& operand : atom->operands) {
    const Interval found = find_interval(replace_atom(value, atom, operand), effort);
    result = hull(result, found);
    each = {std::max(each.low, found.low), std::min(each.high, found.high)};
  }
  // 3*max(a,b) + r is at least 3*a + r and at least 3*b + r.
  if (sign > 0) result.low = each.low;
  if (sign < 0) result.high = each.high;
  return result;
}

Interval BoundsFinder::by_limits(const SymInt& value, int effort) {
  Interval best;
  const std::optional<Relation> goal = goal_;
  goal_.reset();
  for (const Term& term : terms_of(value)) {
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind != AtomKind::kFloorDiv && atom->kind != AtomKind::kMod) continue;
      if (atom->operands[1].is_number()) continue;  // the other forms give better bounds
      Term rest;
      if (!take_atom(term, atom, rest)) continue;
      const Interval factor = find_interval(product(rest), 0);
      const Interval p = find_interval(atom->operands[0], effort - 1);
      const Interval q = find_interval(atom->operands[1], effort - 1);
      if (q.low < 1 || (factor.low < 0 && factor.high > 0)) continue;
      std::vector<SymInt> limits;
      if (p.low >= 0) limits.push_back(atom->operands[0]);
      if (atom->kind == AtomKind::kMod) limits.push_back(atom->operands[1] - 1);
      for (const SymInt& limit : limits) {
        const Interval found = find_interval(value - product(term) + product(rest) * limit, effort - 1);
        if (factor.high <= 0) {
          best.low = std::max(best.low, found.low);
        } else {
          best.high = std::min(best.high, found.high);
        }
      }
    }
  }
  goal_ = goal;
  return best;
}

}  // namespace fxtrace::internal::symbolic
