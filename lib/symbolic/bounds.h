// Bounds of expressions, by interval arithmetic over several equivalent forms.  Private to lib/symbolic.
//
// Invariant: each form gives an interval that contains all values of the expression, so the result, their
// intersection, does too.  A form that grows too large is left out.
//
// Example: for n in 8.., n - n//2 is -infinity.. term by term, as the two uses of n are not related.  Written
// as (2*n - (n - n%2))/2 = (n + n%2)/2 it is 4.., since n%2 is in 0..1.
#pragma once

#include <optional>
#include <string>

#include "symbolic/dimension_facts.h"
#include "symbolic/interval.h"
#include "symbolic/polynomial.h"

namespace fxtrace::internal::symbolic {

// Returns whether every atom is a dimension.
bool has_symbols_only(const SymInt& value);
// Returns `value` with an atom replaced by an expression.  Atoms nested in other atoms are not replaced.
SymInt replace_atom(const SymInt& value, const AtomRef& atom, const SymInt& by);

// A value as numerator / denominator. without_quotients() writes every p//c as (p - p%c)/c and every
// q*(p//q) as p - p%q.
struct Fraction {
  SymInt numerator;
  std::int64_t denominator;
};
Fraction without_quotients(const SymInt& value);
// Returns the value with every p%q written as p - q*(p//q).
SymInt without_remainders(const SymInt& value);

// Answers one query about bounds.  Interval arithmetic alone gives bounds that are too wide when a dimension
// occurs several times (x - x//2), so equivalent forms of the expression are evaluated too, and the bounds
// are intersected.
class BoundsFinder {
 public:
  explicit BoundsFinder(const DimensionFacts& knowledge, std::optional<Relation> goal = {})
      : knowledge_(knowledge), goal_(goal) {}

  Interval find_interval(const SymInt& value, int effort = 2);

 private:
  bool done(const Interval& interval) const { return goal_ && settled(*goal_, interval).has_value(); }
  Interval of_atom(const Atom& atom, int effort);
  // Interval arithmetic term by term.
  Interval plain(const SymInt& value, int effort);
  // Substitutes for each dimension its lowest value plus a non-negative rest: batch*seq - batch is
  // batch*seq' with seq' = seq - 1 >= 0.
  Interval from_lowest(const SymInt& value, int effort);
  // Distinguishes cases by the operands of the first min() or max(); nothing when there is none.
  std::optional<Interval> by_cases(const SymInt& value, int effort);
  // Replaces atoms by their limits: p//q <= p, p%q <= q-1.
  Interval by_limits(const SymInt& value, int effort);

  const DimensionFacts& knowledge_;
  std::optional<Relation> goal_;
};

}  // namespace fxtrace::internal::symbolic
