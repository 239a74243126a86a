#include "symbolic/shape_env.h"

#include <array>

#include "symbolic/bounds.h"
#include "symbolic/dimension_facts.h"

namespace fxtrace::internal {

using namespace symbolic;  // NOLINT: the same library

namespace {

// Limits on visits of atoms, each 50 to 200 ns: a query takes a few milliseconds at most.
constexpr std::int64_t kQuestion = 10000;
constexpr std::int64_t kLesson = 50000;

}  // namespace

std::string to_string(const Range& range) {
  return (range.low ? std::to_string(*range.low) : "") + ".." +
         (range.high ? std::to_string(*range.high) : "");
}

Relation negated(Relation relation) {
  static constexpr std::array kNegated{Relation::kNotEqual, Relation::kEqual,     Relation::kGreaterEqual,
                                       Relation::kGreater,  Relation::kLessEqual, Relation::kLess};
  return kNegated.at(static_cast<std::size_t>(relation));
}

ShapeEnv::ShapeEnv() {
  static const auto nothing = std::make_shared<DimensionFacts>();
  known_ = nothing;
}

void ShapeEnv::rely_on(const SymInt& value) const {
  if (!has_ranges_ || value.is_number()) return;
  for (std::string& name : value.symbols()) {
    const Range own = known_->range(name).range();
    if (own.low.value_or(0) > 0 || own.high) relied_.insert(std::move(name));
  }
}

bool ShapeEnv::narrow(const std::string& name, const Range& range) {
  if (range.low && range.high && *range.low > *range.high) return false;
  has_ranges_ = has_ranges_ || range.low.value_or(0) > 0 || range.high;
  // A range of a new name contradicts nothing, so the facts need not be copied for a roll back.
  const bool is_new =
      !known_->ranges().contains(name) && !known_->has_facts() && (!range.low || range.low != range.high);
  auto known = is_new && known_.use_count() == 1 ? known_ : std::make_shared<DimensionFacts>(*known_);
  known->allow(kLesson);
  try {
    if (!known->learn_range(name, range)) return false;
  } catch (const SymbolicError&) {
    // The consequences for other facts grew too large; the range itself is known.
  }
  known_ = std::move(known);
  return true;
}

Range ShapeEnv::range(const std::string& name) const {
  const Interval own = known_->range(name);
  const auto found = known_->values().find(name);
  if (found == known_->values().end()) return own.range();
  known_->allow(kQuestion);
  return intersection(own, known_->bounds(found->second)).range();
}

std::vector<std::pair<std::string, Range>> ShapeEnv::ranges() const {
  std::vector<std::pair<std::string, Range>> result;
  result.reserve(known_->ranges().size());
  const auto& values = known_->values();
  for (const auto& [name, own] : known_->ranges())
    result.emplace_back(name, values.contains(name) ? range(name) : Interval::from(own).range());
  return result;
}

SymInt ShapeEnv::fresh(const Range& range) {
  if (known_.use_count() > 1) known_ = std::make_shared<DimensionFacts>(*known_);
  known_->allow(kLesson);
  return known_->fresh(range);
}

Range ShapeEnv::bounds(const SymInt& value) const {
  rely_on(value);
  return bounds_of(value);
}

std::optional<std::int64_t> ShapeEnv::most(const SymInt& value) const {
  const auto high = bounds_of(value).high;
  if (high) rely_on(value);
  return high;
}

Range ShapeEnv::bounds_of(const SymInt& value) const {
  if (const auto number = value.number()) return {number, number};
  known_->allow(kQuestion);
  try {
    return known_->bounds(value.substitute(known_->values())).range();
  } catch (const SymbolicError&) {
    return {};
  }
}

std::optional<bool> ShapeEnv::answer(Relation relation, const SymInt& left, const SymInt& right) const {
  if (left.is_number() && right.is_number()) {
    const std::int64_t a = *left.number();
    const std::int64_t b = *right.number();
    return settled(relation, Interval::from(a < b ? -1 : a > b ? 1 : 0));
  }
  known_->allow(kQuestion);
  try {
    if (const AtomRef atom = right.is_number() ? single_atom(left) : nullptr;
        atom != nullptr && atom->kind == AtomKind::kSymbol && !known_->values().contains(atom->text)) {
      const Interval own = known_->range(atom->text) + Interval::from(-static_cast<Wide>(*right.number()));
      const auto answer = settled(relation, own);
      if (answer || !known_->has_facts()) return answer;
    }
    const SymInt difference = (left - right).substitute(known_->values());
    const auto answer = known_->decide(relation, difference);
    if (answer || has_symbols_only(difference)) return answer;
    if (!known_->has_facts() && !has_repeats(difference)) return answer;
    const SymInt simple = known_->simplify(difference);
    return simple == difference ? std::nullopt : known_->decide(relation, simple);
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

std::optional<bool> ShapeEnv::decide(Relation relation, const SymInt& left, const SymInt& right) const {
  const auto answer = this->answer(relation, left, right);
  if (answer) {
    rely_on(left);
    rely_on(right);
  }
  return answer;
}

bool ShapeEnv::assume(Relation relation, const SymInt& left, const SymInt& right) {
  if (const auto decided = decide(relation, left, right)) return *decided;
  auto known = std::make_shared<DimensionFacts>(*known_);
  known->allow(kLesson);
  try {
    if (!known->learn(relation, left - right)) return false;
  } catch (const SymbolicError&) {
    // Some consequences grew too large; those that were learned so far hold.
  }
  known_ = std::move(known);
  return true;
}

SymInt ShapeEnv::simplify(const SymInt& value) const {
  if (value.is_number()) return value;
  known_->allow(kQuestion);
  try {
    SymInt simple = known_->simplify(value);
    if (!(simple == value)) rely_on(value);
    return simple;
  } catch (const SymbolicError&) {
    return value;
  }
}

}  // namespace fxtrace::internal
