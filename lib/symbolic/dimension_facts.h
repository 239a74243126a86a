// The facts behind a ShapeEnv, and inference from them.  Private to lib/symbolic; see shape_env.h.
//
// Invariants:
// 1. Every fact is in the narrowest store that can express it: the range of a dimension (ranges_), its value,
//    a number or an expression of other dimensions (values_), a remainder by a divisor (remainders_),
//    `e >= 0` (at_least_zero_), or `e != 0` (not_zero_).  A bound of a single dimension goes to its range
//    alone; a fact about several is kept, and what follows from it for each of its terms is learned as well.
// 2. The expressions in values_ contain no name that values_ replaces.
// 3. A dimension whose range has one number has that number as its value, unless an expression replaces it.
// 4. at_least_zero_, not_zero_ and remainders_ have at most kMaxFacts entries.  More facts are dropped, which
//    makes answers weaker and never wrong.
// 5. When a range, a value or a remainder has changed, propagate() learns the kept facts again, in the new
//    terms, until a fixed point is reached or kMaxRounds are over.
//
// Example: with a in 0..10 and b in 3.., learn(kLess, b - a) learns a - b - 1 >= 0.  Two dimensions occur, so
// the fact is kept.  Its terms give a >= 4 and b <= 9, so the ranges become 4..10 and 3..9.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "symbolic/interval.h"
#include "symbolic/polynomial.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal::symbolic {

// Returns whether `relation` holds between the numbers in the interval `difference` and zero; nothing when it
// holds for some of them only.
std::optional<bool> settled(Relation relation, const Interval& difference);

// A set of facts.  Queries and updates may throw SymbolicError when an expression grows too large; facts
// learned until then stay valid.
class DimensionFacts {
 public:
  // Limits the work of a query, counted in visits of atoms.  When they are used up, the answer is "unknown".
  void allow(std::int64_t looks) const { looks_left_ = looks; }
  bool spend(std::size_t looks) const {
    looks_left_ -= static_cast<std::int64_t>(looks);
    return looks_left_ > 0;
  }

  // Queries:

  // Returns the dimension's own range, without the bounds of an expression that replaces it.
  Interval range(const std::string& name) const;
  const std::map<std::string, Range>& ranges() const { return ranges_; }
  // Substitutions for dimensions: numbers, and expressions to which they are equal.
  const std::map<std::string, SymInt>& values() const { return values_; }
  bool has_facts() const { return !at_least_zero_.empty() || !not_zero_.empty() || !remainders_.empty(); }
  // Returns bounds of the value.  Stops early when they decide whether `goal` holds between the value and
  // zero.
  Interval bounds(const SymInt& value, std::optional<Relation> goal = {}, bool with_facts = true) const;
  SymInt simplify(const SymInt& value, bool with_facts = true) const;
  // Decides a relation between `difference`, which is left - right, simplified, and zero.
  std::optional<bool> decide(Relation relation, const SymInt& difference) const;
  // Returns p % q when a fact gives it.
  std::optional<SymInt> known_remainder(const SymInt& p, const SymInt& q) const;

  // Updates: each returns false when it contradicts the facts; the object must not be used any more then.

  bool learn_range(const std::string& name, const Range& range);
  bool learn(Relation relation, const SymInt& difference);
  SymInt fresh(const Range& range);

 private:
  // dividend % divisor == value
  struct Remainder {
    SymInt dividend, divisor;
    std::int64_t value;
  };

  SymInt rewritten(const SymInt& value, bool with_facts) const;
  SymInt rewritten_atom(const AtomRef& atom, bool with_facts) const;
  SymInt without_exact_quotients(const SymInt& value) const;
  bool never_zero(const SymInt& difference) const;

  void mention(const SymInt& value);
  bool set_range(const std::string& name, const Range& range);
  void set_value(const std::string& name, const SymInt& value);
  bool learn_at_least_zero(const SymInt& value, int depth);
  bool learn_zero(const SymInt& value, int depth);
  bool learn_not_zero(const SymInt& value, int depth);
  bool learn_remainder(const SymInt& dividend, const SymInt& divisor, std::int64_t value);
  bool learn_from_term(const SymInt& value, const Term& term, int depth);
  // Propagates facts to ranges until a fixed point is reached.
  bool propagate();

  std::map<std::string, Range> ranges_;
  std::map<std::string, SymInt> values_;  // substitutions; the expressions contain no substituted name
  std::vector<SymInt> at_least_zero_;     // each is >= 0; facts that ranges cannot express
  std::vector<SymInt> not_zero_;          // normalized()
  std::vector<Remainder> remainders_;
  std::set<std::string> fresh_;
  std::int64_t next_fresh_ = 0;
  bool changed_ = false;  // since the current round of propagate() began
  mutable std::int64_t looks_left_ = 0;
};

}  // namespace fxtrace::internal::symbolic
