// Bounds of expressions; for lib/symbolic alone.
#pragma once

#include <optional>
#include <string>

#include "symbolic/interval.h"
#include "symbolic/knowledge.h"
#include "symbolic/polynomial.h"

namespace fxtrace::symbolic {

// Whether every atom is a dimension.
bool has_symbols_only(const SymInt& value);
// `value` with another expression in the place of an atom.  Atoms inside atoms stay as they are.
SymInt replace_atom(const SymInt& value, const AtomRef& atom, const SymInt& by);

// `numerator / denominator` is the value, where every p//c is written as (p - p%c)/c and every q*(p//q) as
// p - p%q.
struct Fraction {
  SymInt numerator;
  std::int64_t denominator;
};
Fraction without_quotients(const SymInt& value);
// Every p%q written as p - q*(p//q).
SymInt without_remainders(const SymInt& value);

// One question about bounds.  Interval arithmetic alone is too wide where a dimension occurs several times
// (x - x//2), so the expression is also looked at in other forms; each form's bounds hold.
class BoundsFinder {
 public:
  explicit BoundsFinder(const Knowledge& knowledge, std::optional<Relation> goal = {})
      : knowledge_(knowledge), goal_(goal) {}

  Interval find(const SymInt& value, int effort = 2);

 private:
  bool done(const Interval& interval) const { return goal_ && settled(*goal_, interval).has_value(); }
  Interval of_atom(const Atom& atom, int effort);
  // Term by term.
  Interval plain(const SymInt& value, int effort);
  // By dimensions counted from their lowest values: batch*seq - batch is batch*seq' with seq' = seq - 1 >= 0.
  Interval from_lowest(const SymInt& value, int effort);
  // By the operands of the first minimum or maximum; nothing when there is none.
  std::optional<Interval> by_cases(const SymInt& value, int effort);
  // With what an atom cannot exceed in its place: p//q <= p, p%q <= q-1.
  Interval by_limits(const SymInt& value, int effort);

  const Knowledge& knowledge_;
  std::optional<Relation> goal_;
};

}  // namespace fxtrace::symbolic
