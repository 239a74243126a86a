// Value rules of lists: items, slices and concatenation.
#include "opinfo/values/list_changes.h"
#include "opinfo/values/number_values.h"
#include "opinfo/values/value_rules.h"

namespace fxtrace::internal::values {
namespace {

const AbstractValue::Sequence& list(const ValueCall& call) {
  const auto* items = call[0].sequence();
  need(items != nullptr);
  return *items;
}

// Returns an integer argument that is a literal; nothing for None.
std::optional<std::int64_t> literal(const ValueCall& call, std::size_t i) {
  if (call.args.values().type(i).kind == ValueType::Kind::kNone) return std::nullopt;
  need(call.args.values().is_literal(i));
  return whole(call, i);
}

}  // namespace

std::optional<Results> joined_lists(const ValueCall& call) {
  const auto *items = call[0].sequence(), *more = call[1].sequence();
  if (items == nullptr || more == nullptr) return std::nullopt;
  need(items->size() + more->size() <= kMostItems);
  AbstractValue::Sequence joined = *items;
  joined.insert(joined.end(), more->begin(), more->end());
  return {{{std::move(joined)}}};
}

Results item_of_list(const ValueCall& call) {
  need(call.size() == 2 && call.args.values().is_literal(1));
  const auto place = find_position(std::ssize(list(call)), whole(call, 1));
  need(place.has_value());
  return {list(call)[*place]};
}

Results part_of_list(const ValueCall& call) {
  need(call.size() == 4);
  const auto step = literal(call, 3);
  need(step && *step != 0);
  AbstractValue::Sequence part;
  for_each_position(slice_of(std::ssize(list(call)), literal(call, 1), literal(call, 2), *step),
                    [&](std::size_t place) { part.push_back(list(call)[place]); });
  return {{std::move(part)}};
}

// list(xs), xs.copy()
Results same_list(const ValueCall& call) {
  need(call.size() == 1);
  return {{list(call)}};
}

}  // namespace fxtrace::internal::values
