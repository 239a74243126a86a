// What is known of dimensions, and what follows from it; for lib/symbolic alone.
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

namespace fxtrace::symbolic {

// Whether `relation` holds between something in `difference` and zero.
std::optional<bool> settled(Relation relation, const Interval& difference);

// Functions that ask and learn may throw SymbolicError when an expression grows too large.  What was learned
// until then holds all the same.
class Knowledge {
 public:
  // What a question may cost, in looks at an atom.  When that is used up, the rest is not known.
  void allow(std::int64_t looks) const { looks_left_ = looks; }
  bool spend(std::size_t looks) const {
    looks_left_ -= static_cast<std::int64_t>(looks);
    return looks_left_ > 0;
  }

  // Asking.

  // Of the dimension's own; one that stands for another expression has that one's bounds too.
  Interval range(const std::string& name) const;
  const std::map<std::string, Range>& ranges() const { return ranges_; }
  // What takes the place of dimensions: numbers, and what they were said to be equal to.
  const std::map<std::string, SymInt>& values() const { return values_; }
  bool has_facts() const { return !at_least_zero_.empty() || !not_zero_.empty() || !remainders_.empty(); }
  // Stops early where it is known whether `goal` holds between the value and zero.
  Interval bounds(const SymInt& value, std::optional<Relation> goal = {}, bool with_facts = true) const;
  SymInt simplify(const SymInt& value, bool with_facts = true) const;
  // left - right is `difference`, simplified.
  std::optional<bool> decide(Relation relation, const SymInt& difference) const;
  // p % q where a fact tells it.
  std::optional<SymInt> known_remainder(const SymInt& p, const SymInt& q) const;

  // Learning: false when it contradicts what is known.  The object is of no use then.

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
  // Looks at all facts again until no range changes any more.
  bool propagate();

  std::map<std::string, Range> ranges_;
  std::map<std::string, SymInt> values_;  // of dimensions that stand for others; has none of its own names
  std::vector<SymInt> at_least_zero_;     // each is >= 0; those that ranges cannot say
  std::vector<SymInt> not_zero_;          // by normalized()
  std::vector<Remainder> remainders_;
  std::set<std::string> fresh_;
  std::int64_t next_fresh_ = 0;
  bool changed_ = false;  // since propagate() began its round
  mutable std::int64_t looks_left_ = 0;
};

}  // namespace fxtrace::symbolic
