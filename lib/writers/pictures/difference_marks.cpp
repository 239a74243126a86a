#include "writers/pictures/difference_marks.h"

#include <algorithm>

namespace fxtrace {
namespace {

using Kind = Outline::Kind;

std::optional<Change> mark_of(const MergedCollection& merged, const Outline::Item& item) {
  if (item.node != nullptr) {
    if (const auto node = merged.nodes.find(item.node); node != merged.nodes.end()) return node->second;
  }
  if ((item.kind != Kind::kModule && item.kind != Kind::kNode) || item.path.empty()) return std::nullopt;
  const auto module = merged.modules.find(item.path);
  return module == merged.modules.end() ? std::nullopt : std::optional(module->second);
}

}  // namespace

Distinction distinction_of(const MergedCollection* merged) {
  if (merged == nullptr) return {};
  return [merged](const Outline::Item& item) {
    const auto mark = mark_of(*merged, item);
    return mark ? 1 + static_cast<int>(*mark) : 0;
  };
}

DifferenceMarks::DifferenceMarks(const MergedCollection& merged, const Outline& outline)
    : outline_(outline), own_(outline.items.size()), inside_(outline.items.size()) {
  for (Outline::Index i = 0; i < outline.items.size(); ++i) own_[i] = mark_of(merged, outline[i]);
  for (Outline::Index i = 0; i < outline.items.size(); ++i) {
    if (!own_[i] || is_part_of_change(i)) continue;
    for (Outline::Index around = outline[i].parent; around != Outline::kNone; around = outline[around].parent)
      ++inside_[around];
  }
}

bool DifferenceMarks::is_part_of_change(Outline::Index item) const {
  if (own_[item] == Change::kChanged) return false;
  for (Outline::Index around = outline_[item].parent; around != Outline::kNone;
       around = outline_[around].parent) {
    if (own_[around] == own_[item]) return true;
  }
  return false;
}

std::optional<Change> DifferenceMarks::of_closed(Outline::Index item) const {
  if (own_[item]) return own_[item];
  const Kind kind = outline_[item].kind;
  if (kind != Kind::kRepeats && kind != Kind::kPeriod && kind != Kind::kPart)
    return inside_[item] == 0 ? std::nullopt : std::optional(Change::kChanged);
  // A box that only groups items was added or removed if all its items were.
  const auto& children = outline_[item].children;
  const auto first = of_closed(children.front());
  const bool is_one =
      std::ranges::all_of(children, [&](Outline::Index child) { return of_closed(child) == first; });
  return is_one ? first : Change::kChanged;
}

}  // namespace fxtrace
