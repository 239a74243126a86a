#include "writers/difference_marks.h"

#include <algorithm>

namespace fxtrace {

DifferenceMarks::DifferenceMarks(const MergedCollection& merged, const Outline& outline)
    : outline_(outline), own_(outline.items.size()), inside_(outline.items.size()) {
  const auto& items = outline.items;
  for (Outline::Index i = 0; i < items.size(); ++i) {
    const auto node = items[i].node == nullptr ? merged.nodes.end() : merged.nodes.find(items[i].node);
    const bool has_path = items[i].kind == Outline::Kind::kModule || items[i].kind == Outline::Kind::kNode;
    const auto module =
        has_path && !items[i].path.empty() ? merged.modules.find(items[i].path) : merged.modules.end();
    if (node != merged.nodes.end()) own_[i] = node->second;
    if (!own_[i] && module != merged.modules.end()) own_[i] = module->second;
    if (!own_[i]) continue;
    for (Outline::Index around = items[i].parent; around != Outline::kNone; around = items[around].parent)
      ++inside_[around];
  }
}

std::optional<Change> DifferenceMarks::of_closed(Outline::Index item) const {
  if (own_[item] || inside_[item] == 0) return own_[item];
  const auto& children = outline_[item].children;
  const auto first = children.empty() ? std::nullopt : own_[children.front()];
  const bool is_one =
      first && std::ranges::all_of(children, [&](Outline::Index child) { return own_[child] == first; });
  return is_one ? *first : Change::kChanged;
}

}  // namespace fxtrace
