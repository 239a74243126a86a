// What is known of the named dimensions of a trace, and how comparisons of symbolic sizes are decided.
//
// When the traced code asks `if x.size(0) > 4`, the size is an expression such as batch*2.  A ShapeEnv says
// whether the comparison is true for all values of the dimensions, false for all, or unknown; the tracer may
// then assume one answer, and later questions build on it.  The method is interval arithmetic over
// polynomials, as in the value range analysis of torch.fx.experimental.symbolic_shapes.
//
// To decide `left R right`, the sign of the difference left - right is bounded, each step only if those
// before it leave the answer open:
//   a. two numbers are compared; a single dimension is compared with a number by its own range;
//   b. known values are substituted, and the difference is bounded by intervals, in several equivalent forms
//      (bounds.h);
//   c. facts `e >= 0` are subtracted from the difference, one at a time, then in pairs (dimension_facts.h);
//   d. for == and !=, a common factor, a stored "is not zero" or a known remainder may exclude zero;
//   e. the difference is simplified by the facts, and b to d are done once more.
//
// Invariants:
// 1. Answers are sound: an answer holds for all values of the dimensions that meet the facts, and bounds
//    contain all values of the expression.  They are not complete: "unknown" and wide bounds are always
//    allowed.
// 2. A dimension is a size, so its range is 0.. by default.  Only narrow() may allow negative numbers, as the
//    first to name the dimension.
// 3. A ShapeEnv whose narrow() or assume() returned false has the facts that it had before: facts are
//    learned in a copy, which replaces the old ones on success.  (Only a new dimension, about which nothing
//    can be contradicted, may be added in place.)
// 4. Work is limited: a query may visit kQuestion atoms, an update kLesson.  Beyond that, and where an
//    expression grows too large, the answer is "unknown", and an update keeps what it learned so far.
// 5. An answer that was drawn from an expression records its dimensions that have a range of their own
//    (take_relied()), so that the tracer can state the range as a guard.
// 6. fresh() never returns a name that is already a dimension.
//
// Example, after narrow("batch", 1..64) and narrow("seq", 1..):
//   decide(batch*seq >= batch)   batch*seq - batch is -63.. term by term, which says nothing.  With
//                                batch = 1+b and seq = 1+s for b, s >= 0 it is s + b*s, so: true.
//   take_relied()                {batch, seq}
//   decide(seq%8 == 0)           unknown
//   assume(seq%8 == 0)           true; it is kept as a remainder, and the range of seq becomes 8..
//   simplify(seq//8*8)           seq
//   u0 = fresh()
//   assume(u0 == seq//8)         true; from now on u0 is replaced by seq//8, and its range is 1..
//   decide(u0 < seq)             true
//   assume(seq < 8)              false; nothing changes
//   assume(seq == 16)            true; simplify(u0) is 2, and batch*seq//8 is batch*2
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "symbolic/sym_int.h"

namespace fxtrace::internal {

namespace symbolic {
class DimensionFacts;
}

// A closed range; an absent bound is unknown.
struct Range {
  std::optional<std::int64_t> low, high;
  bool operator==(const Range&) const = default;
};
std::string to_string(const Range& range);  // "1..64", "0..", "..8"

enum class Relation { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
const char* to_string(Relation relation);  // "=="
Relation negated(Relation relation);

// The facts about all dimensions of a trace.  A value type: a trace restores a copy to undo what a failed
// module assumed.  Copies share their facts until one is changed (copy on write), so they are cheap.
//
// Never throws SymbolicError: the answer about an expression that grows too large is "unknown".
class ShapeEnv {
 public:
  ShapeEnv();

  // Declares a dimension with a range, or narrows its range.  Returns false, and changes nothing, when the
  // result would be empty.
  bool narrow(const std::string& name, const Range& range);
  // Returns the dimension's range; 0.. for an unknown dimension, as it is a size.
  Range range(const std::string& name) const;
  // Returns a new dimension, named u0, u1, ..., with the first number whose name is not a dimension yet.
  SymInt fresh(const Range& range = {0, std::nullopt});
  // Returns the ranges of all declared dimensions, sorted by name.
  std::vector<std::pair<std::string, Range>> ranges() const;

  // Returns bounds of the expression over all values of its dimensions.  They are sound, but may be too wide.
  Range bounds(const SymInt& value) const;
  std::optional<std::int64_t> most(const SymInt& value) const;  // the upper bound
  // Returns true when the relation holds for all values, false when it holds for none, nothing when that is
  // unknown.
  std::optional<bool> decide(Relation relation, const SymInt& left, const SymInt& right) const;
  // Adds the relation as a fact.  Returns false, and changes nothing, when it cannot hold.
  bool assume(Relation relation, const SymInt& left, const SymInt& right);
  // Returns the value simplified by the known facts: a dimension with one possible value becomes that number,
  // max(1,n) becomes n for n in 1.., a//8*8 becomes a when 8 is known to divide a.
  SymInt simplify(const SymInt& value) const;

  // Returns the dimensions with a range narrower than 0.. on which answers since the last call relied.
  std::set<std::string> take_relied() const { return std::exchange(relied_, {}); }

 private:
  std::optional<bool> answer(Relation relation, const SymInt& left, const SymInt& right) const;
  Range bounds_of(const SymInt& value) const;
  void rely_on(const SymInt& value) const;

  bool has_ranges_ = false;  // some dimension was declared with a range narrower than 0..
  mutable std::set<std::string> relied_;
  std::shared_ptr<symbolic::DimensionFacts> known_;  // never null; shared with copies, cloned before a change
};

}  // namespace fxtrace::internal
