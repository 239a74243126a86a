// Facts about the named dimensions of a trace: their ranges, and assumed relations.
//
// The method is interval arithmetic over polynomials, as in the value range analysis of
// torch.fx.experimental.symbolic_shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "symbolic/sym_int.h"

namespace fxtrace {

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

// The environment.  A value type: a trace restores a copy to undo what a failed module assumed.  Copies share
// their facts until one is changed (copy on write), so they are cheap.
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
  // Returns a new dimension, named u0, u1, ..., but never by a name that narrow() was called with.
  SymInt fresh(const Range& range = {0, std::nullopt});
  // Returns the ranges of all declared dimensions, sorted by name.
  std::vector<std::pair<std::string, Range>> ranges() const;

  // Returns bounds of the expression over all values of its dimensions.  They are sound, but may be too wide.
  Range bounds(const SymInt& value) const;
  std::optional<std::int64_t> most(const SymInt& value) const;  // their upper end
  // Returns true when the relation holds for all values, false when for none, nothing when that is unknown.
  std::optional<bool> decide(Relation relation, const SymInt& left, const SymInt& right) const;
  // Adds the relation as a fact.  Returns false, and changes nothing, when it cannot hold.
  bool assume(Relation relation, const SymInt& left, const SymInt& right);
  // Simplifies the value by the known facts: a dimension with one possible value becomes that number,
  // max(1,n) becomes n for n in 1.., a//8*8 becomes a when 8 is known to divide a.
  SymInt simplify(const SymInt& value) const;

  // Returns the dimensions with a range of their own about which something was answered since the last call.
  std::set<std::string> take_relied() const { return std::exchange(relied_, {}); }

 private:
  std::optional<bool> answer(Relation relation, const SymInt& left, const SymInt& right) const;
  Range bounds_of(const SymInt& value) const;
  void rely_on(const SymInt& value) const;

  bool has_ranges_ = false;  // narrower than that of any size
  mutable std::set<std::string> relied_;
  std::shared_ptr<symbolic::DimensionFacts> known_;  // never null; shared with copies, cloned before a change
};

}  // namespace fxtrace
