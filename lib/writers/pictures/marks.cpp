#include "writers/pictures/marks.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fxtrace::internal {
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

std::size_t style_of(Change change) {
  return change == Change::kAdded ? 1 : change == Change::kRemoved ? 2 : 3;
}

class DifferenceMarks {
 public:
  DifferenceMarks(const MergedCollection& merged, const Outline& outline);

  std::vector<Mark> marks() const;

 private:
  bool is_part_of_change(Outline::Index item) const;
  std::optional<Change> of_closed(Outline::Index item) const;
  Mark of_weights(Outline::Index item) const;

  const Outline& outline_;
  std::vector<std::optional<Change>> own_;  // of the items themselves
  // The number of differences in the box; a box that was added or removed counts as one with its content.
  std::vector<std::uint32_t> inside_;
  std::vector<bool> has_weights_, holds_weights_;  // other ones: the module itself, one in the box
};

bool has_other_weights(const MergedCollection& merged, const Outline::Item& item) {
  return (item.kind == Kind::kModule || item.kind == Kind::kNode) && merged.weights.contains(item.path);
}

DifferenceMarks::DifferenceMarks(const MergedCollection& merged, const Outline& outline)
    : outline_(outline),
      own_(outline.items.size()),
      inside_(outline.items.size()),
      has_weights_(outline.items.size()),
      holds_weights_(outline.items.size()) {
  for (Outline::Index i = 0; i < outline.items.size(); ++i) {
    has_weights_[i] = has_other_weights(merged, outline[i]);
    if (!has_weights_[i]) continue;
    for (Outline::Index around = outline[i].parent; around != Outline::kNone; around = outline[around].parent)
      holds_weights_[around] = true;
  }
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

// Returns the change to show for a closed box: its own; or for repeats that were all added or all removed,
// that; or kChanged if something in it differs.
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

Mark DifferenceMarks::of_weights(Outline::Index item) const {
  constexpr std::size_t kWeights = 4;  // the style
  if (has_weights_[item]) return {kWeights, false, "other weights"};
  return holds_weights_[item] ? Mark{kWeights, true, "other weights inside"} : Mark();
}

std::vector<Mark> DifferenceMarks::marks() const {
  std::vector<Mark> marks(outline_.items.size());
  for (Outline::Index i = 0; i < marks.size(); ++i) {
    const auto change = of_closed(i);
    if (!change) {
      marks[i] = of_weights(i);
      continue;
    }
    marks[i] = {style_of(*change), !own_[i]};
    // A box that was added or removed as a whole needs no number.
    if (inside_[i] > 0 && *change == Change::kChanged)
      marks[i].text = std::to_string(inside_[i]) + (inside_[i] == 1 ? " differs" : " differ");
  }
  return marks;
}

}  // namespace

Marking mark_differences(const MergedCollection& merged) {
  return {{{"added", "+", "added", ",bold", "#d2f4d9", "#1a7f37"},
           {"removed", "\u2212", "removed", ",dashed", "#ffdcd7", "#b3261e"},
           {"changed", "~", "changed", "", "#fff1c2", "#8a6100"},
           {"weights", "", "other weights", ",dotted", "#e7dcfa", "#7445b8"}},
          false,
          [&merged](const Outline::Item& item) {
            const auto mark = mark_of(merged, item);
            return mark ? 1 + static_cast<int>(*mark) : has_other_weights(merged, item) ? -1 : 0;
          },
          [&merged](const Outline& outline) { return DifferenceMarks(merged, outline).marks(); }};
}

}  // namespace fxtrace::internal
