#include "symbolic/dimensions.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "symbolic/checked.h"
#include "symbolic/polynomial.h"

namespace fxtrace {

using namespace symbolic;  // NOLINT: the same library

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Range intersection(const Range& a, const Range& b) {
  Range both = a;
  if (b.low && (!both.low || *b.low > *both.low)) both.low = b.low;
  if (b.high && (!both.high || *b.high < *both.high)) both.high = b.high;
  return both;
}
bool is_empty(const Range& range) { return range.low && range.high && *range.low > *range.high; }

std::optional<bool> settle(Relation relation, const Range& difference) {
  const auto& [low, high] = difference;
  const bool positive = low && *low > 0;
  const bool not_negative = low && *low >= 0;
  const bool negative = high && *high < 0;
  const bool not_positive = high && *high <= 0;
  switch (relation) {
    case Relation::kEqual:
      if (positive || negative) return false;
      if (not_negative && not_positive) return true;
      return std::nullopt;
    case Relation::kLess:
      if (negative) return true;
      if (not_negative) return false;
      return std::nullopt;
    case Relation::kGreater:
      if (positive) return true;
      if (not_positive) return false;
      return std::nullopt;
    default: {
      const auto opposite = settle(negated(relation), difference);
      return opposite ? std::optional(!*opposite) : std::nullopt;
    }
  }
}

}  // namespace

std::string to_string(const Range& range) {
  return (range.low ? std::to_string(*range.low) : "") + ".." +
         (range.high ? std::to_string(*range.high) : "");
}

const char* to_string(Relation relation) {
  switch (relation) {
    case Relation::kEqual:
      return "==";
    case Relation::kNotEqual:
      return "!=";
    case Relation::kLess:
      return "<";
    case Relation::kLessEqual:
      return "<=";
    case Relation::kGreater:
      return ">";
    case Relation::kGreaterEqual:
      return ">=";
  }
  return "?";
}

Relation negated(Relation relation) {
  switch (relation) {
    case Relation::kEqual:
      return Relation::kNotEqual;
    case Relation::kNotEqual:
      return Relation::kEqual;
    case Relation::kLess:
      return Relation::kGreaterEqual;
    case Relation::kLessEqual:
      return Relation::kGreater;
    case Relation::kGreater:
      return Relation::kLessEqual;
    case Relation::kGreaterEqual:
      return Relation::kLess;
  }
  return relation;
}

struct Dimensions::Known {
  std::map<std::string, Range> ranges;
  std::map<std::string, SymInt> values;
  std::int64_t next_fresh = 0;
};

Dimensions::Dimensions() {
  static const auto nothing = std::make_shared<const Known>();
  known_ = nothing;
}

Range Dimensions::range(const std::string& name) const {
  const auto found = known_->ranges.find(name);
  return found == known_->ranges.end() ? Range{0, std::nullopt} : found->second;
}

std::vector<std::pair<std::string, Range>> Dimensions::ranges() const {
  return {known_->ranges.begin(), known_->ranges.end()};
}

bool Dimensions::narrow(const std::string& name, const Range& range) {
  const auto found = known_->ranges.find(name);
  const Range both = found == known_->ranges.end() ? range : intersection(found->second, range);
  if (is_empty(both)) return false;
  auto known = std::make_shared<Known>(*known_);
  known->ranges[name] = both;
  if (both.low && both.low == both.high) known->values[name] = *both.low;
  known_ = known;
  return true;
}

SymInt Dimensions::fresh(const Range& range) {
  std::int64_t number = known_->next_fresh;
  std::string name;
  do {
    name = "u" + std::to_string(number++);
  } while (known_->ranges.contains(name));
  auto known = std::make_shared<Known>(*known_);
  known->ranges[name] = range;
  known->next_fresh = number;
  known_ = known;
  return SymInt::symbol(name);
}

Range Dimensions::bounds(const SymInt& value) const {
  if (const auto number = value.number()) return {*number, *number};
  if (const auto name = value.symbol_name()) return range(*name);
  Range total{0, 0};
  for (const Term& term : terms_of(value)) {
    Range part{term.coefficient, term.coefficient};
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind != AtomKind::kSymbol) return {};
      const Range factor = range(atom->text);
      if (!factor.low || *factor.low < 0) return {};
      // coefficient * something in 0..
      std::int64_t low = 0, high = 0;
      const bool has_high =
          factor.high && part.high && part.low &&
          !__builtin_mul_overflow(*factor.high, term.coefficient < 0 ? *part.low : *part.high, &high);
      const std::int64_t near = term.coefficient < 0 ? part.high.value_or(0) : part.low.value_or(0);
      if (__builtin_mul_overflow(*factor.low, near, &low)) return {};
      part = term.coefficient < 0 ? Range{has_high ? std::optional(high) : std::nullopt, low}
                                  : Range{low, has_high ? std::optional(high) : std::nullopt};
    }
    std::int64_t low = 0, high = 0;
    const bool has_low = total.low && part.low && !__builtin_add_overflow(*total.low, *part.low, &low);
    const bool has_high = total.high && part.high && !__builtin_add_overflow(*total.high, *part.high, &high);
    total = {has_low ? std::optional(low) : std::nullopt, has_high ? std::optional(high) : std::nullopt};
  }
  return total;
}

std::optional<bool> Dimensions::decide(Relation relation, const SymInt& left, const SymInt& right) const {
  try {
    return settle(relation, bounds(simplify(left - right)));
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

bool Dimensions::assume(Relation relation, const SymInt& left, const SymInt& right) {
  if (const auto decided = decide(relation, left, right)) return *decided;
  const auto name = left.symbol_name();
  const auto number = right.number();
  if (!name || !number || *number <= -kMost || *number >= kMost) return true;
  switch (relation) {
    case Relation::kEqual:
      return narrow(*name, {*number, *number});
    case Relation::kNotEqual:
      return range(*name).low != *number || narrow(*name, {*number + 1, std::nullopt});
    case Relation::kLess:
      return narrow(*name, {std::nullopt, *number - 1});
    case Relation::kLessEqual:
      return narrow(*name, {std::nullopt, *number});
    case Relation::kGreater:
      return narrow(*name, {*number + 1, std::nullopt});
    case Relation::kGreaterEqual:
      return narrow(*name, {*number, std::nullopt});
  }
  return true;
}

SymInt Dimensions::simplify(const SymInt& value) const {
  try {
    return value.substitute(known_->values);
  } catch (const SymbolicError&) {
    return value;
  }
}

}  // namespace fxtrace
