#include "symbolic/dimension_facts.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "symbolic/bounds.h"
#include "symbolic/interval.h"

namespace fxtrace::internal::symbolic {
namespace {

constexpr std::size_t kMaxFacts = 64;
constexpr std::size_t kMaxPairedFacts = 12;
constexpr int kMaxQuestions = 8;
constexpr int kMaxRounds = 6;
constexpr int kMaxPasses = 4;

bool is_empty(const Range& range) { return range.low && range.high && *range.low > *range.high; }

Range intersection(const Range& a, const Range& b) {
  Range result = a;
  if (b.low && (!result.low || *b.low > *result.low)) result.low = b.low;
  if (b.high && (!result.high || *b.high < *result.high)) result.high = b.high;
  return result;
}

// Returns a form that is the same for values that are zero together: no common factor, and a positive first
// coefficient.
SymInt normalized(const SymInt& value) {
  if (value.is_number()) return value;
  SymInt result = floordiv(value, content_of(value, true));
  return terms_of(result).front().coefficient < 0 ? -result : result;
}

// Returns whether a symbol may occur in both values; false is always right.
bool shares_symbols(const SymInt& a, const SymInt& b) { return (symbol_bits(a) & symbol_bits(b)) != 0; }

// Returns the factors by which `fact` may be subtracted from `value` to remove a term: each positive integer
// ratio of two terms with the same atoms.
std::set<std::int64_t> ratios(const SymInt& value, const SymInt& fact) {
  std::set<std::int64_t> result;
  for (const Term& a : terms_of(value)) {
    for (const Term& b : terms_of(fact)) {
      if (a.atoms.empty() || !same_atoms(a, b) || a.coefficient % b.coefficient != 0) continue;
      if (const std::int64_t ratio = a.coefficient / b.coefficient; ratio > 0) result.insert(ratio);
    }
  }
  return result;
}

// Returns whether the term is an atom alone, with the coefficient 1 or -1: value = sign * atom + rest.
bool is_linear(const Term& term) {
  return term.atoms.size() == 1 && (term.coefficient == 1 || term.coefficient == -1);
}

}  // namespace

std::optional<bool> settled(Relation relation, const Interval& difference) {
  const auto& [low, high] = difference;
  switch (relation) {
    case Relation::kEqual:
      if (low > 0 || high < 0) return false;
      if (low == 0 && high == 0) return true;
      return std::nullopt;
    case Relation::kLess:
      if (high < 0) return true;
      if (low >= 0) return false;
      return std::nullopt;
    case Relation::kGreater:
      if (low > 0) return true;
      if (high <= 0) return false;
      return std::nullopt;
    default: {
      const auto opposite = settled(negated(relation), difference);
      return opposite ? std::optional(!*opposite) : std::nullopt;
    }
  }
}

// ---- Queries

Interval DimensionFacts::range(const std::string& name) const {
  const auto found = ranges_.find(name);
  return found == ranges_.end() ? Interval{0, kInfinity} : Interval::from(found->second);
}

Interval DimensionFacts::bounds(const SymInt& value, std::optional<Relation> goal, bool with_facts) const {
  BoundsFinder finder(*this, goal);
  Interval best = finder.find_interval(value);
  const auto done = [&] { return goal ? settled(*goal, best).has_value() : best.is_single(); };
  if (!with_facts || at_least_zero_.empty() || value.is_number() || done()) return best;
  std::vector<const SymInt*> facts;
  for (const SymInt& fact : at_least_zero_) {
    if (shares_symbols(fact, value)) facts.push_back(&fact);
  }
  try {
    for (const SymInt* fact : facts) {
      // value == ratio*fact + rest, and ratio*fact is not negative.
      for (const std::int64_t ratio : ratios(value, *fact)) {
        best.low = std::max(best.low, finder.find_interval(value - *fact * SymInt(ratio)).low);
      }
      for (const std::int64_t ratio : ratios(-value, *fact)) {
        best.high = std::min(best.high, finder.find_interval(value + *fact * SymInt(ratio)).high);
      }
      if (done()) return best;
    }
    if (at_least_zero_.size() > kMaxPairedFacts) return best;
    // Chains: a <= b and b <= c give a <= c.
    for (const SymInt* first : facts) {
      for (const std::int64_t ratio : ratios(value, *first)) {
        const SymInt rest = value - *first * SymInt(ratio);
        for (const SymInt& second : at_least_zero_) {
          for (const std::int64_t times : ratios(rest, second)) {
            best.low = std::max(best.low, finder.find_interval(rest - second * SymInt(times), 1).low);
          }
        }
      }
      for (const std::int64_t ratio : ratios(-value, *first)) {
        const SymInt rest = value + *first * SymInt(ratio);
        for (const SymInt& second : at_least_zero_) {
          for (const std::int64_t times : ratios(-rest, second)) {
            best.high = std::min(best.high, finder.find_interval(rest + second * SymInt(times), 1).high);
          }
        }
      }
      if (done()) return best;
    }
  } catch (const SymbolicError&) {
    // The bounds that were found so far hold.
  }
  return best;
}

bool DimensionFacts::never_zero(const SymInt& difference) const {
  const std::int64_t content = content_of(difference, false);
  if (content > 1 && constant_of(difference) % content != 0) return true;  // 2*n + 1
  if (!not_zero_.empty()) {
    const SymInt plain = normalized(difference);
    if (std::find(not_zero_.begin(), not_zero_.end(), plain) != not_zero_.end()) return true;
  }
  return std::any_of(remainders_.begin(), remainders_.end(), [&](const Remainder& fact) {
    if (!fact.divisor.is_number()) return false;
    const auto rest = known_remainder(difference, fact.divisor);
    return rest && rest->is_number() && *rest->number() != 0;
  });
}

std::optional<bool> DimensionFacts::decide(Relation relation, const SymInt& difference) const {
  const bool equality = relation == Relation::kEqual || relation == Relation::kNotEqual;
  if (const auto answer = settled(relation, bounds(difference, relation))) return answer;
  if (equality && never_zero(difference)) return relation == Relation::kNotEqual;
  return std::nullopt;
}

std::optional<SymInt> DimensionFacts::known_remainder(const SymInt& p, const SymInt& q) const {
  if (remainders_.empty()) return std::nullopt;
  const auto divisor = q.number();
  if (divisor && *divisor <= 0) return std::nullopt;
  SymInt replaced = p;
  for (const Remainder& fact : remainders_) {
    if (!divisor || !fact.divisor.is_number()) {
      if (fact.dividend == p && fact.divisor == q) return SymInt(fact.value);
      continue;
    }
    if (std::gcd(*fact.divisor.number(), *divisor) == 1) continue;
    const AtomRef atom = single_atom(fact.dividend);
    if (atom != nullptr) {  // n is 8*(n//8) + n%8
      const SymInt turns = floordiv(fact.dividend, fact.divisor);
      replaced = replace_atom(replaced, atom, fact.divisor * turns + SymInt(fact.value));
    } else if (*fact.divisor.number() % *divisor == 0) {
      const SymInt rest = mod(p - fact.dividend + SymInt(fact.value), q);
      if (rest.is_number()) return rest;
    }
  }
  if (!divisor || replaced == p) return std::nullopt;
  const SymInt rest = mod(replaced, q);
  return rest.is_number() ? std::optional(rest) : std::nullopt;
}

SymInt DimensionFacts::rewritten_atom(const AtomRef& atom, bool with_facts) const {
  if (atom->kind == AtomKind::kSymbol || !spend(atom->weight)) return from_atom(atom);
  std::vector<SymInt> operands;
  bool changed = false;
  for (const SymInt& operand : atom->operands) {
    operands.push_back(rewritten(operand, with_facts));
    changed = changed || !(operands.back() == operand);
  }
  if (changed) return operation(atom->kind, operands);  // the next pass simplifies it further
  if (atom->kind == AtomKind::kMin || atom->kind == AtomKind::kMax) {
    const bool larger = atom->kind == AtomKind::kMax;
    for (std::size_t i = 0; i < operands.size();) {
      const bool needless = std::any_of(operands.begin(), operands.end(), [&](const SymInt& other) {
        if (&other == &operands[i]) return false;
        const SymInt above = larger ? other - operands[i] : operands[i] - other;
        return bounds(above, Relation::kGreaterEqual, with_facts).low >= 0;
      });
      if (needless) {
        operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    return operands.size() == atom->operands.size() ? from_atom(atom) : operation(atom->kind, operands);
  }
  const SymInt& p = operands[0];
  const SymInt& q = operands[1];
  const bool quotient = atom->kind == AtomKind::kFloorDiv;
  if (!quotient) {
    if (const auto rest = known_remainder(p, q)) return *rest;
  }
  // p is in turns*q .. turns*q + q-1
  std::optional<std::int64_t> turns;
  if (const auto divisor = q.number()) {
    const Interval found = bounds(p, {}, with_facts);
    const Wide low = wide_floor_divide(found.low, *divisor);
    const bool finite = found.low > -kFarthest && found.high < kFarthest;
    if (finite && low == wide_floor_divide(found.high, *divisor)) turns = static_cast<std::int64_t>(low);
  } else if (bounds(p, Relation::kGreaterEqual, with_facts).low >= 0 &&
             bounds(q - p, Relation::kGreater, with_facts).low > 0) {
    turns = 0;
  }
  if (turns) return quotient ? SymInt(*turns) : p - SymInt(*turns) * q;
  if (quotient && !q.is_number()) {
    const Interval found = bounds(from_atom(atom), {}, with_facts);
    if (found.is_single()) return static_cast<std::int64_t>(found.low);
  }
  return from_atom(atom);
}

// Replaces q*(p//q) by p - p%q where the remainder is known.
SymInt DimensionFacts::without_exact_quotients(const SymInt& value) const {
  if (remainders_.empty() || value.is_number()) return value;
  Sum total;
  bool changed = false;
  for (const Term& term : terms_of(value)) {
    SymInt part = product(term);
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind != AtomKind::kFloorDiv) continue;
      const SymInt& q = atom->operands[1];
      const auto rest = known_remainder(atom->operands[0], q);
      Term others;
      if (!rest || !divide_atoms(term.atoms, {atom}, others.atoms)) continue;
      others.coefficient = term.coefficient;
      const SymInt whole = product(others);
      const SymInt factor = floordiv(whole, q);
      if (!(factor * q == whole)) continue;
      part = factor * (atom->operands[0] - *rest);
      changed = true;
      break;
    }
    total.add(part);
  }
  return changed ? total.total() : value;
}

SymInt DimensionFacts::rewritten(const SymInt& value, bool with_facts) const {
  if (has_symbols_only(value)) return value;
  Sum total;
  for (const Term& term : terms_of(value)) {
    SymInt part = term.coefficient;
    for (const AtomRef& atom : term.atoms) part = part * rewritten_atom(atom, with_facts);
    total.add(part);
  }
  return without_exact_quotients(total.total());
}

SymInt DimensionFacts::simplify(const SymInt& value, bool with_facts) const {
  SymInt result = values_.empty() ? value : value.substitute(values_);
  for (int pass = 0; pass < kMaxPasses && !has_symbols_only(result); ++pass) {
    const SymInt next = rewritten(result, with_facts);
    if (next == result) break;
    result = next;
  }
  return result;
}

// ---- Updates

void DimensionFacts::mention(const SymInt& value) {
  for (const std::string& name : value.symbols()) ranges_.try_emplace(name, Range{0, std::nullopt});
}

SymInt DimensionFacts::fresh(const Range& range) {
  std::string name;
  do {
    name = std::string("u").append(std::to_string(next_fresh_++));
  } while (ranges_.contains(name));
  fresh_.insert(name);
  learn_range(name, range);
  return SymInt::symbol(name);
}

bool DimensionFacts::learn_range(const std::string& name, const Range& range) {
  if (const auto found = values_.find(name); found != values_.end()) {
    const SymInt value = found->second;
    if (range.low && !learn_at_least_zero(value - SymInt(*range.low), 0)) return false;
    if (range.high && !learn_at_least_zero(SymInt(*range.high) - value, 0)) return false;
    ranges_[name] = intersection(ranges_[name], range);
    return propagate();
  }
  if (!ranges_.contains(name)) {
    ranges_[name] = Range{};
  }
  return set_range(name, range) && propagate();
}

bool DimensionFacts::set_range(const std::string& name, const Range& range) {
  Range& known = ranges_.try_emplace(name, Range{0, std::nullopt}).first->second;
  const Range narrower = intersection(known, range);
  if (is_empty(narrower)) return false;
  if (!(narrower == known)) changed_ = true;
  known = narrower;
  const bool single = narrower.low && narrower.low == narrower.high;
  if (single && !values_.contains(name)) set_value(name, *narrower.low);
  return true;
}

void DimensionFacts::set_value(const std::string& name, const SymInt& value) {
  const std::map<std::string, SymInt> replacement{{name, value}};
  for (auto& [other, expression] : values_) expression = expression.substitute(replacement);
  values_.insert_or_assign(name, value);
  changed_ = true;  // all facts must be rewritten with the value
}

bool DimensionFacts::learn(Relation relation, const SymInt& difference) {
  mention(difference);
  const auto learn_one = [&] {
    switch (relation) {
      case Relation::kEqual:
        return learn_zero(difference, 0);
      case Relation::kNotEqual:
        return learn_not_zero(difference, 0);
      case Relation::kLess:
        return learn_at_least_zero(-difference - 1, 0);
      case Relation::kLessEqual:
        return learn_at_least_zero(-difference, 0);
      case Relation::kGreater:
        return learn_at_least_zero(difference - 1, 0);
      case Relation::kGreaterEqual:
        return learn_at_least_zero(difference, 0);
    }
    return true;
  };
  return learn_one() && propagate();
}

// Learns what `value >= 0` implies for one of its terms.
bool DimensionFacts::learn_from_term(const SymInt& value, const Term& term, int depth) {
  const SymInt rest = value - product(term);
  const Interval others = bounds(rest, {}, false);
  const AtomRef& first = term.atoms.front();
  if (term.atoms.size() == 1 && first->kind == AtomKind::kSymbol && others.high < kFarthest) {
    // coefficient * x >= -rest >= -others.high
    const Wide least = -others.high;
    Interval range;
    if (term.coefficient > 0) {
      range.low = wide_ceil_divide(least, term.coefficient);
    } else {
      range.high = wide_floor_divide(least, term.coefficient);
    }
    return set_range(first->text, range.range());
  }
  if (term.coefficient > 0 && others.high < 0) {  // the product is above zero
    for (const AtomRef& atom : term.atoms) {
      const SymInt factor = from_atom(atom);
      if (bounds(factor, {}, false).low != 0) continue;
      const bool alone = term.atoms.size() == 1;
      if (!alone && !std::all_of(term.atoms.begin(), term.atoms.end(), [&](const AtomRef& other) {
            return bounds(from_atom(other), {}, false).low >= 0;
          })) {
        continue;
      }
      if (!alone && !learn_at_least_zero(factor - 1, depth + 1)) return false;
    }
  }
  if (!is_linear(term)) return true;
  const bool plus = term.coefficient > 0;
  switch (first->kind) {
    case AtomKind::kFloorDiv: {
      const SymInt& p = first->operands[0];
      const SymInt& q = first->operands[1];
      if (!q.is_number()) return true;
      // p//q >= -rest is p >= -rest*q;  p//q <= rest is p <= rest*q + q-1
      return learn_at_least_zero(plus ? p + rest * q : rest * q + q - 1 - p, depth + 1);
    }
    case AtomKind::kMod: {
      const auto divisor = first->operands[1].number();
      if (!divisor || !rest.is_number()) return true;
      const std::int64_t limit = plus ? -*rest.number() : *rest.number();
      if (limit != (plus ? *divisor - 1 : 0)) return true;
      return learn_remainder(first->operands[0], first->operands[1], limit);
    }
    case AtomKind::kMin:
    case AtomKind::kMax:
      if (plus != (first->kind == AtomKind::kMin)) return true;
      for (const SymInt& operand : first->operands) {
        if (!learn_at_least_zero((plus ? operand : -operand) + rest, depth + 1)) return false;
      }
      return true;
    default:
      return true;
  }
}

bool DimensionFacts::learn_at_least_zero(const SymInt& given, int depth) {
  if (!spend(1)) return true;
  SymInt value = simplify(given, false);
  if (const auto number = value.number()) return *number >= 0;
  const Interval found = bounds(value, {}, false);
  if (found.high < 0) return false;
  if (found.low >= 0) return true;
  value = floordiv(value, content_of(value, false));  // rounds the constant down
  if (depth > kMaxQuestions) return true;
  // The range of a symbol expresses a bound on that symbol alone; other facts are kept.
  const Terms terms(value);
  const Term& lead = terms.front();
  const bool single = is_linear(lead) && lead.atoms.front()->kind == AtomKind::kSymbol &&
                      (terms.size() == 1 || (terms.size() == 2 && (terms.end() - 1)->atoms.empty()));
  if (!single && at_least_zero_.size() < kMaxFacts &&
      std::find(at_least_zero_.begin(), at_least_zero_.end(), value) == at_least_zero_.end()) {
    at_least_zero_.push_back(value);
  }
  return std::all_of(terms.begin(), terms.end(), [&](const Term& term) {
    return term.atoms.empty() || learn_from_term(value, term, depth);
  });
}

bool DimensionFacts::learn_remainder(const SymInt& dividend, const SymInt& divisor, std::int64_t value) {
  const SymInt rest = mod(dividend, divisor);
  if (const auto number = rest.number()) return *number == value;
  if (const auto known = known_remainder(dividend, divisor)) {
    if (const auto number = known->number()) return *number == value;
  }
  if (remainders_.size() >= kMaxFacts) return true;
  remainders_.push_back({dividend, divisor, value});
  changed_ = true;
  return true;
}

bool DimensionFacts::learn_zero(const SymInt& given, int depth) {
  if (!spend(1)) return true;
  SymInt value = simplify(given, false);
  if (const auto number = value.number()) return *number == 0;
  const std::int64_t content = content_of(value, false);
  if (constant_of(value) % content != 0) return false;
  value = floordiv(value, content);
  if (!bounds(value, {}, false).contains(0) || never_zero(value)) return false;
  if (depth > kMaxQuestions) return true;
  const Terms terms(value);
  // n//8*8 - n is -(n%8)
  if (const Fraction other = without_quotients(value);
      depth == 0 && Terms(other.numerator).size() < terms.size()) {
    return learn_zero(other.numerator, depth + 1);
  }
  const Term& lead = terms.front();
  const SymInt rest = value - product(lead);
  if (is_linear(lead) && rest.is_number()) {
    const Atom& atom = *lead.atoms.front();
    const std::int64_t number = -*rest.number() * lead.coefficient;
    if (atom.kind == AtomKind::kSymbol) return set_range(atom.text, {number, number});
    if (atom.kind == AtomKind::kMod) return learn_remainder(atom.operands[0], atom.operands[1], number);
  }
  // A dimension that is alone in its term and occurs nowhere else is replaced by the rest.  Dimensions that
  // fresh() made are preferred to named ones, and among equals the last by name.
  const Term* chosen = nullptr;
  for (const Term& term : terms) {
    if (!is_linear(term) || term.atoms.front()->kind != AtomKind::kSymbol) continue;
    const std::string& name = term.atoms.front()->text;
    const auto others = (value - product(term)).symbols();
    if (std::binary_search(others.begin(), others.end(), name)) continue;
    const bool fresh = fresh_.contains(name);
    if (chosen == nullptr || fresh >= fresh_.contains(chosen->atoms.front()->text)) chosen = &term;
  }
  if (chosen != nullptr) {
    const std::string name = chosen->atoms.front()->text;
    const SymInt expression = (value - product(*chosen)) * SymInt(-chosen->coefficient);
    const Interval known = range(name);
    if (!set_range(name, bounds(expression, {}, false).range())) return false;
    if (values_.contains(name)) return learn_zero(value, depth + 1);  // the range has one value left
    set_value(name, expression);
    const Range limits = known.range();
    if (limits.low && !learn_at_least_zero(expression - SymInt(*limits.low), depth + 1)) return false;
    return !limits.high || learn_at_least_zero(SymInt(*limits.high) - expression, depth + 1);
  }
  return learn_at_least_zero(value, depth + 1) && learn_at_least_zero(-value, depth + 1);
}

bool DimensionFacts::learn_not_zero(const SymInt& given, int depth) {
  if (!spend(1)) return true;
  const SymInt value = simplify(given, false);
  if (const auto number = value.number()) return *number != 0;
  const Interval found = bounds(value, {}, false);
  if (found.low > 0 || found.high < 0) return true;
  if (found.low == 0 && found.high == 0) return false;
  if (depth > kMaxQuestions) return true;
  if (found.low == 0) return learn_at_least_zero(value - 1, depth + 1);
  if (found.high == 0) return learn_at_least_zero(-value - 1, depth + 1);
  const SymInt plain = normalized(value);
  if (constant_of(plain) % content_of(plain, false) != 0) return true;
  if (not_zero_.size() < kMaxFacts &&
      std::find(not_zero_.begin(), not_zero_.end(), plain) == not_zero_.end()) {
    not_zero_.push_back(plain);
  }
  return true;
}

bool DimensionFacts::propagate() {
  for (int round = 0; round < kMaxRounds && changed_; ++round) {
    changed_ = false;
    for (const Remainder& fact : std::exchange(remainders_, {})) {
      const SymInt dividend = simplify(fact.dividend, false);
      const SymInt divisor = simplify(fact.divisor, false);
      const bool as_before = dividend == fact.dividend && divisor == fact.divisor;
      if (as_before) {
        remainders_.push_back(fact);
      } else if (!learn_zero(mod(dividend, divisor) - SymInt(fact.value), 0)) {
        return false;
      }
      const auto name = dividend.symbol_name();
      const auto by = divisor.number();
      if (!name || !by || *by <= 0) continue;
      // The range shrinks to the nearest values that leave the remainder.
      Range known = range(*name).range();
      if (known.low) known.low = add(*known.low, floor_remainder(subtract(fact.value, *known.low), *by));
      if (known.high)
        known.high = subtract(*known.high, floor_remainder(subtract(*known.high, fact.value), *by));
      if (!set_range(*name, known)) return false;
    }
    for (const SymInt& fact : std::exchange(at_least_zero_, {})) {
      if (!learn_at_least_zero(fact, 0)) return false;
    }
    for (const SymInt& fact : std::exchange(not_zero_, {})) {
      if (!learn_not_zero(fact, 0)) return false;
    }
  }
  changed_ = false;
  return true;
}

}  // namespace fxtrace::internal::symbolic
