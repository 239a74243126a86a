// What is known of the named dimensions of a trace: their ranges, and what asserts said of them.
//
// Source of the method: interval arithmetic over polynomials, as in the value range analysis of
// torch.fx.experimental.symbolic_shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "symbolic/sym_int.h"

namespace fxtrace {

namespace symbolic {
class Knowledge;
}

// Inclusive; a bound that is absent is not known.
struct Range {
  std::optional<std::int64_t> low, high;
  bool operator==(const Range&) const = default;
};
std::string to_string(const Range& range);  // "1..64", "0..", "..8"

enum class Relation { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
const char* to_string(Relation relation);  // "=="
Relation negated(Relation relation);

// A value: copies are independent, which is how a trace undoes what a failed module assumed.  They share what
// they know until one of them learns more, so a copy costs next to nothing.
//
// Nothing here throws SymbolicError: what grows too large to be said is not known.
class ShapeEnv {
 public:
  ShapeEnv();

  // Gives a dimension its range, or narrows it.  False when nothing remains; then nothing changes.
  bool narrow(const std::string& name, const Range& range);
  // 0.. for a dimension that nothing was said about: it is a size.
  Range range(const std::string& name) const;
  // A dimension of unknown size, named u0, u1, ...: never one that `narrow` was called with.
  SymInt fresh(const Range& range = {0, std::nullopt});
  // Of all dimensions that are known by name, in the order of their names.
  std::vector<std::pair<std::string, Range>> ranges() const;

  // Bounds of the expression over all values of its dimensions.  Never too narrow; may be too wide.
  Range bounds(const SymInt& value) const;
  // Whether the relation holds for all values (true), for none (false), or that is not known.
  std::optional<bool> decide(Relation relation, const SymInt& left, const SymInt& right) const;
  // From now on the relation holds.  False when it cannot hold; then nothing changes.
  bool assume(Relation relation, const SymInt& left, const SymInt& right);
  // The same value in fewer words, given what is known: a dimension with one value is that number, max(1,n)
  // of n in 1.. is n, a//8*8 is a where 8 is known to divide a.
  SymInt simplify(const SymInt& value) const;

 private:
  std::shared_ptr<symbolic::Knowledge> known_;  // never null; shared with copies, so cloned before it changes
};

}  // namespace fxtrace
